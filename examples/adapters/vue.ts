import type { SignInController, SignInState } from 'gatehouse-client'
import { onScopeDispose, type ShallowRef, shallowRef } from 'vue'

/** The state of a controller: `signIn.value`, in a template `signIn`. */
export function useSignIn(controller: SignInController): Readonly<ShallowRef<SignInState>> {
  const state = shallowRef(controller.getState())
  onScopeDispose(
    controller.subscribe((changed) => {
      state.value = changed
    }),
  )
  return state
}
