import type { SignInController, SignInState } from 'gatehouse-client'
import { fromStore } from 'svelte/store'

/**
 * The state of a controller: `signIn.current`. A controller is also a store itself: `$controller`.
 */
export function useSignIn(controller: SignInController): { readonly current: SignInState } {
  return fromStore(controller)
}
