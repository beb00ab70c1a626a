import { GatehouseError, type SignInStep } from 'gatehouse-client'
import { describeError } from 'gatehouse-client/messages'
import { useCallback, useState } from 'react'

/** A request of the sign-in that resolves with the next step. */
export type Move = () => Promise<SignInStep | undefined>

export interface SignIn {
  /** Undefined: the sign-in has not begun, or has ended. */
  readonly step: SignInStep | undefined
  readonly error: unknown
  readonly isBusy: boolean
  /** Runs a move and shows its step. With a signal that is aborted meanwhile, its result has no effect. */
  readonly take: (move: Move, signal?: AbortSignal) => Promise<void>
}

/** @param onSuccess the same function at each call */
export function useSignIn(onSuccess: () => void): SignIn {
  const [step, setStep] = useState<SignInStep>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setIsBusy] = useState(false)

  const take = useCallback(
    async (move: Move, signal?: AbortSignal) => {
      if (!signal) {
        setIsBusy(true)
        setError(undefined)
      }
      try {
        const next = await move()
        if (signal?.aborted) return
        setStep(next)
        if (next?.status === 'SUCCESS' && !next.unlocked) finish(next.redirectUrl, onSuccess)
      } catch (failure) {
        if (signal?.aborted) return
        setError(failure)
        if (failure instanceof GatehouseError && describeError(failure).action === 'restart')
          setStep(undefined)
      } finally {
        if (!signal) setIsBusy(false)
      }
    },
    [onSuccess],
  )

  return { step, error, isBusy, take }
}

/** After a step-up, the user continues in the app that asked for it. */
function finish(redirectUrl: string | undefined, onSuccess: () => void): void {
  if (redirectUrl) location.assign(redirectUrl)
  else onSuccess()
}
