import { createHmac, timingSafeEqual } from 'node:crypto'
import { validationFailed } from '../authn-error.ts'
import { randomChallenge } from '../issued-tokens.ts'
import { actionLink } from '../links.ts'
import type { Transaction } from '../transaction.ts'
import type { FactorHandler, FactorStep, Outcome } from './factor-handler.ts'
import { push } from './push-factor.ts'

/**
 * Duo in a frame (Web SDK version 2). The page shows Duo's frame with `host` and `signature`, and posts what the frame gives
 * as `sig_response` to the `complete` link; then it polls. The sandbox serves the frame too (duo-routes.ts).
 */
export const duo: FactorHandler = {
  idPrefix: () => 'dsf',
  profile: (_config, owner) => ({ credentialId: owner.login }),
  enroll: () => ({}),
  immediate: false,
  begin(step) {
    push.begin(step)
    step.challenge.nonce = randomChallenge(step.org.random)
  },
  answers: () => false,
  check: push.check,
  poll: (step) => (step.transaction.factorResult === 'WAITING' ? push.poll(step) : begun(step)),
  challengeObject: (step) => ({ verification: frame(step) }),
  activationObject: frame,
}

/** POST …/lifecycle/duoCallback: what Duo signed. The next poll finds the factor approved. */
export function completeDuo(step: FactorStep, form: { id: string; sig_response: string }): Outcome {
  if (form.id !== step.factor.id) throw validationFailed('id', ['id: is not the factor of this path'])
  if (!isSame(form.sig_response, signDuoResponse(step)))
    return { kind: 'wrong', cause: 'The response of Duo is not valid.' }
  step.challenge.pushAnswer = 'approve'
  return { kind: 'verified' }
}

type Signed = Pick<FactorStep, 'factor' | 'challenge'>

/** What the page posts once the user has approved in the frame. */
export function signDuoResponse(step: Signed): string {
  return `${part('AUTH', step)}:${part('APP', step)}`
}

/** The waiting request with this TX part: whose it is, and the AUTH part that Duo signs once the user has approved. */
export function findDuoRequest(
  transactions: readonly Transaction[],
  tx: string,
): { login: string; response: string } | undefined {
  for (const { user, factor, challenge, factorResult } of transactions) {
    if (user === undefined || factor?.factorType !== 'web' || challenge === undefined) continue
    const step = { factor, challenge }
    if (factorResult === 'WAITING' && isSame(tx, part('TX', step)))
      return { login: user.login, response: part('AUTH', step) }
  }
  return undefined
}

function begun(step: FactorStep) {
  duo.begin(step)
  return { kind: 'waiting', result: 'WAITING' } as const
}

function frame({ org, transaction, factor, challenge, origin }: Omit<FactorStep, 'body'>) {
  const step = { factor, challenge }
  return {
    host: org.config.duoHost ?? new URL(origin).host,
    signature: `${part('TX', step)}:${part('APP', step)}`,
    factorResult: transaction.factorResult ?? 'WAITING',
    _links: {
      complete: actionLink(origin, `/api/v1/authn/factors/${factor.id}/lifecycle/duoCallback`),
      script: {
        href: `${origin}/js/sections/duo/Duo-Web-v2.js`,
        type: 'text/javascript; charset=utf-8',
      },
    },
  }
}

/** `TX|<who and what for>|<signature>`, in the characters that Duo's script accepts. */
function part(name: 'TX' | 'AUTH' | 'APP', { factor, challenge }: Signed): string {
  const about = Buffer.from(`${factor.profile?.credentialId}|${factor.id}|${challenge.nonce}`).toString(
    'base64',
  )
  const signature = createHmac('sha1', 'plainly-fake-duo-secret').update(`${name}|${about}`).digest('hex')
  return `${name}|${about}|${signature}`
}

function isSame(one: string, other: string): boolean {
  const [given, right] = [Buffer.from(one), Buffer.from(other)]
  return given.length === right.length && timingSafeEqual(given, right)
}
