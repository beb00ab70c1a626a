import { createHmac, timingSafeEqual } from 'node:crypto'
import { validationFailed } from '../authn-error.ts'
import { randomChallenge } from '../issued-tokens.ts'
import { actionLink } from '../links.ts'
import type { DuoForm } from '../schemas.ts'
import type { Transaction } from '../transaction.ts'
import type { FactorHandler, FactorStep, FactorView, Outcome } from './factor-handler.ts'
import { push } from './push-factor.ts'

/**
 * Duo in a frame (Web SDK version 2). The page opens Duo's frame with `host` and `signature`, posts
 * the frame's `sig_response` to the `complete` link, and then polls. The sandbox serves the frame
 * too (duo-routes.ts).
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
  hasAnswer: () => false,
  check: push.check,
  poll: (step) => (step.transaction.factorResult === 'WAITING' ? push.poll(step) : restart(step)),
  challengeObject: (step) => ({ verification: frameParameters(step) }),
  activationObject: frameParameters,
}

/**
 * POST …/lifecycle/duoCallback: checks the response that Duo signed. The next poll finds the factor
 * approved.
 */
export function completeDuo(step: FactorStep, form: DuoForm): Outcome {
  if (form.id !== undefined && form.id !== step.factor.id)
    throw validationFailed('id', ['id: must be the factor in the path'])
  if (!isEqual(form.sig_response, signDuoResponse(step)))
    return { kind: 'wrong', cause: 'The Duo response is not valid.' }
  step.challenge.pushAnswer = 'approve'
  return { kind: 'verified' }
}

type Signed = Pick<FactorStep, 'factor' | 'challenge'>

/** The `sig_response` that the page posts after the user approves in the frame. */
export function signDuoResponse(step: Signed): string {
  return `${signedPart('AUTH', step)}:${signedPart('APP', step)}`
}

/**
 * The pending request with this TX part: the user's login, and the AUTH part that Duo signs after
 * approval.
 */
export function findDuoRequest(
  transactions: readonly Transaction[],
  tx: string,
): { login: string; response: string } | undefined {
  for (const { user, factor, challenge, factorResult } of transactions) {
    if (user === undefined || factor?.factorType !== 'web' || challenge === undefined) continue
    const step = { factor, challenge }
    if (factorResult === 'WAITING' && isEqual(tx, signedPart('TX', step)))
      return { login: user.login, response: signedPart('AUTH', step) }
  }
  return undefined
}

function restart(step: FactorStep) {
  duo.begin(step)
  return { kind: 'waiting', result: 'WAITING' } as const
}

function frameParameters({ org, transaction, factor, challenge, origin }: FactorView) {
  const step = { factor, challenge }
  return {
    host: org.config.duoHost ?? new URL(origin).host,
    signature: `${signedPart('TX', step)}:${signedPart('APP', step)}`,
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

/** `TX|<user, factor and challenge>|<signature>`, in the characters that Duo's script accepts. */
function signedPart(name: 'TX' | 'AUTH' | 'APP', { factor, challenge }: Signed): string {
  const subject = Buffer.from(`${factor.profile?.credentialId}|${factor.id}|${challenge.nonce}`).toString(
    'base64',
  )
  const signature = createHmac('sha1', 'plainly-fake-duo-secret').update(`${name}|${subject}`).digest('hex')
  return `${name}|${subject}|${signature}`
}

function isEqual(actual: string, expected: string): boolean {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
