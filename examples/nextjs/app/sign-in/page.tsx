'use client'

import { allowedReturnTo, createGatehouse, createSignInController } from 'gatehouse-client'
import * as messages from 'gatehouse-client/messages'
import { type FormEvent, useEffect, useSyncExternalStore } from 'react'

const controller = createSignInController(createGatehouse(), { messages })

// biome-ignore lint/style/noDefaultExport: Next.js requires it
export default function SignInPage() {
  const { view, step, factor, busy, message } = useSyncExternalStore(
    controller.subscribe,
    controller.getState,
    controller.getState,
  )
  useEffect(() => {
    void controller.start()
    return controller.dispose
  }, [])
  useEffect(() => {
    const { searchParams } = new URL(location.href)
    if (view === 'signed-in') location.replace(allowedReturnTo(searchParams.get('returnTo')) ?? '/app')
  }, [view])
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const {
      username = '',
      password = '',
      passCode = '',
    } = Object.fromEntries(new FormData(event.currentTarget) as Iterable<[string, string]>)
    void (step ? controller.verify({ passCode }) : controller.signIn({ username, password }))
  }

  if (view !== 'sign-in') return <p>{message?.text ?? 'One moment…'}</p>
  const asksForCode = step && 'verify' in step && factor
  return (
    <form onSubmit={send}>
      {message && <p role="alert">{`${message.title}. ${message.text}`}</p>}
      {!step && (
        <>
          <input name="username" aria-label="Username" autoComplete="username" required />
          <input
            name="password"
            aria-label="Password"
            autoComplete="current-password"
            type="password"
            required
          />
        </>
      )}
      {step?.status === 'MFA_REQUIRED' &&
        !factor &&
        step.factors.map((one) => (
          <button key={one.id} type="button" disabled={busy} onClick={() => controller.choose(one)}>
            {one.factorType}
          </button>
        ))}
      {asksForCode && <input name="passCode" aria-label="Code" autoComplete="one-time-code" required />}
      {(!step || asksForCode) && (
        <button type="submit" disabled={busy}>
          Continue
        </button>
      )}
      {step && !asksForCode && step.status !== 'MFA_REQUIRED' && <p>{step.status}</p>}
    </form>
  )
}
