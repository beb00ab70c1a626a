import type { SignInController, SignInState } from 'gatehouse-client'
import { useSyncExternalStore } from 'react'

/** The state of a sign-in: the component is rendered again when it changes. */
export function useSignIn({ subscribe, getState }: SignInController): SignInState {
  return useSyncExternalStore(subscribe, getState)
}
