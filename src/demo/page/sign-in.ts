import { call, follow, linkOf, type Transaction } from './broker.js'
import { text } from './elements.js'
import { actions, button, form } from './forms.js'
import { enrolActivate, enrolChoice } from './render-enrol.js'
import { expiredPassword, expiringPassword, resetPassword } from './render-password.js'
import { askRecovery, lockedOut, recoveryChallenge, recoveryQuestion } from './render-recovery.js'
import { challenge, chooseFactor } from './render-verify.js'
import { say, show } from './screen.js'
import { type Beginning, cancelButton, type Render, type Steps, unknown } from './steps.js'

export interface SignIn {
  begin(start?: Beginning): void
  /** From a mail: sets an account up. */
  activate(token: string): Promise<void>
  /** From a mail: a forgotten password, or an account to unlock. */
  recover(recoveryToken: string): Promise<void>
  /** Goes on with a transaction that began elsewhere: a step-up for an app. */
  resume(stateToken: string): Promise<void>
}

/** Warn of a password that expires soon, and let people set up more than one factor. */
const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }

/** The whole sign-in: each answer has a status, and each status its screen. */
const SCREENS: Readonly<Record<string, Render>> = {
  UNAUTHENTICATED: stepUp,
  MFA_REQUIRED: chooseFactor,
  MFA_CHALLENGE: challenge,
  MFA_ENROLL: enrolChoice,
  MFA_ENROLL_ACTIVATE: enrolActivate,
  PASSWORD_EXPIRED: expiredPassword,
  PASSWORD_WARN: expiringPassword,
  PASSWORD_RESET: resetPassword,
  LOCKED_OUT: lockedOut,
  RECOVERY: recoveryQuestion,
  RECOVERY_CHALLENGE: recoveryChallenge,
}

/** @param done somebody is signed in now */
export function createSignIn(done: () => Promise<void>): SignIn {
  const steps: Steps = {
    remember: false,
    begin,
    async take(transaction, link, fields, query) {
      await steps.go(await follow(transaction, link, fields, query))
    },
    go(transaction) {
      if (transaction.status === 'SUCCESS') return succeed(transaction)
      return (SCREENS[transaction.status] ?? unknown)(transaction, steps)
    },
  }
  const start = async (path: string, body: object) => steps.go(await call('POST', path, { body }))

  function begin({ username = '', password = '', notice = '' }: Beginning = {}): void {
    steps.remember = false
    show(
      'Sign in',
      form({
        fields: [
          { name: 'username', label: 'User name', autocomplete: 'username', value: username },
          {
            name: 'password',
            label: 'Password',
            type: 'password',
            autocomplete: 'current-password',
            value: password,
          },
        ],
        submit: 'Sign in',
        onSubmit: (credentials) => start('/api/v1/authn', { ...credentials, options: OPTIONS }),
      }),
      actions(
        button('Forgot your password?', () => askRecovery('password', steps), 'link'),
        button('Unlock your account', () => askRecovery('unlock', steps), 'link'),
      ),
    )
    say(notice)
  }

  /** The end: a redirect to the app that began it, an account that is unlocked, or a session. */
  async function succeed(transaction: Transaction): Promise<void> {
    const next = linkOf(transaction, 'next')
    if (next !== undefined) {
      location.assign(next.href)
      return
    }
    if (transaction.recoveryType !== 'UNLOCK') return done()
    show(
      'Your account is unlocked',
      text('You can sign in again.'),
      actions(button('Sign in', () => begin(), '')),
    )
  }

  return {
    begin,
    activate: (token) => start('/api/v1/authn', { token, options: OPTIONS }),
    recover: (recoveryToken) => start('/api/v1/authn/recovery/token', { recoveryToken }),
    resume: (stateToken) => start('/api/v1/authn', { stateToken }),
  }
}

/** An app has sent the browser here, and nobody has signed in yet. */
function stepUp(transaction: Transaction, steps: Steps): void {
  const next = linkOf(transaction, 'next')
  if (next === undefined) {
    unknown(transaction, steps)
    return
  }
  const app = transaction._embedded?.target?.label ?? 'the app'
  show(
    `Sign in to go on to ${app}`,
    form({
      fields: [
        { name: 'username', label: 'User name', autocomplete: 'username' },
        { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
      ],
      submit: 'Sign in',
      others: [cancelButton(transaction, steps)],
      onSubmit: (credentials) => steps.take(transaction, next, credentials),
    }),
  )
}
