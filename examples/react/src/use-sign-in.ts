import type { SignInController, SignInState } from 'gatehouse-client'
import { useSyncExternalStore } from 'react'

/** The state of a controller, which is created outside of components. */
export function useSignIn({ subscribe, getState }: SignInController): SignInState {
  return useSyncExternalStore(subscribe, getState, getState)
}
