import { element } from '../parts/elements.js'
import { BOX, type Field } from '../parts/form.js'
import { CODE, factorStep, isKnown, nameOf } from './factors.js'
import type { Action, Step } from './step.js'
import { factorsOf, type Link, linkOf, type Transaction } from './transaction.js'
import { userNameField } from './user-name.js'

/** Okta warns before a password expires, and users can enroll more than one factor. */
export const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }

/** The state before the first request, in the form of an answer. */
export const START: Transaction = { status: 'START', _links: { next: { href: '/api/v1/authn' } } }

const PASSWORD: Field = ['password', 'Password', { type: 'password', autocomplete: 'current-password' }]
const OLD: Field = ['oldPassword', 'Current password', { type: 'password', autocomplete: 'current-password' }]
const NEW: Field = ['newPassword', 'New password', { type: 'password', autocomplete: 'new-password' }]
const REVOKE: Field = ['revokeSessions', 'Sign me out everywhere else', BOX]
/** The broker refuses a recovery without a `factorType`. */
const RECOVERY_METHODS = {
  EMAIL: 'A link by email',
  SMS: 'A code by text message',
  CALL: 'A code by phone call',
}
const RECOVERY_METHOD: Field = ['factorType', 'Send me', {}, Object.entries(RECOVERY_METHODS)]

type ToStep = (answer: Transaction, next: Link | undefined) => Step | undefined | Promise<Step | undefined>

/** The step for each status of an answer. */
const STEPS: Readonly<Record<string, ToStep>> = {
  START(_answer, link) {
    const sends = (values: object) => ({ ...values, options: OPTIONS })
    const main = { label: 'Sign in', link, fields: [userNameField(), PASSWORD], sends }
    const others = [recovery('Forgot your password?', 'password'), recovery('Unlock your account', 'unlock')]
    return { title: 'Sign in', main, others }
  },
  RECOVER: (_answer, link) => recoverStep(link?.name ?? '', link),
  LOCKED_OUT(_answer, link) {
    if (link) return recoverStep('Your account is locked', link)
    return { title: 'Your account is locked', content: ['Ask your help desk to unlock it.'] }
  },
  RECOVERY_CHALLENGE(_answer, link) {
    const content = ['If the account exists, we have sent a code to its phone.']
    if (link) return { title: 'Enter the code', content, main: { label: 'Verify', link, fields: [CODE] } }
    const mail = 'If the account exists, we have sent a link. Open it on this device.'
    return { title: 'Check your email', content: [mail] }
  },
  RECOVERY({ _embedded }, link) {
    const question = _embedded?.user?.recovery_question?.question ?? 'Your answer'
    const main = { label: 'Continue', link, fields: [['answer', question] as const] }
    return { title: 'Your recovery question', main }
  },
  UNAUTHENTICATED({ _embedded }, link) {
    const app = _embedded?.target?.label ?? 'the app'
    const main = { label: 'Sign in', link, fields: [userNameField(), PASSWORD] }
    return { title: `Sign in to continue to ${app}`, main }
  },
  PASSWORD_EXPIRED: (answer) => passwordStep(answer, 'Your password has expired', OLD),
  PASSWORD_WARN(answer) {
    const days = answer._embedded?.policy?.expiration?.passwordExpireDays
    const when = days === undefined ? 'soon' : IN_DAYS.format(days, 'day')
    return passwordStep(answer, `Your password expires ${when}`, OLD)
  },
  PASSWORD_RESET: (answer) => passwordStep(answer, 'Choose a new password'),
  MFA_REQUIRED(answer) {
    const factors = factorsOf(answer)
    if (factors.length === 1) return factorStep(answer)
    if (factors.length === 0) return NO_FACTOR_ALLOWED
    if (!factors.some(isKnown)) return undefined
    return {
      title: 'Choose how to verify your identity',
      others: choicesOf(answer, 'verify', 'VERIFY'),
    }
  },
  VERIFY: factorStep,
  MFA_CHALLENGE: factorStep,
  MFA_ENROLL(answer) {
    const ready = factorsOf(answer).filter(({ status }) => status === 'ACTIVE')
    const names = ready.map((factor) => nameOf(answer, factor)).join(', ')
    const others = choicesOf(answer, 'enroll', 'ENROLL')
    const skip = linkOf(answer, 'skip')
    const title = 'Set up a second factor'
    if (names === '' && others.length === 0)
      return factorsOf(answer).length === 0 ? NO_FACTOR_TO_ENROLL : undefined
    if (names === '')
      return { title, content: ['Choose one. You will need it each time you sign in.'], others }
    const more = others.length > 0 && `You can set up more${skip ? ', or finish' : ''}:`
    return {
      title,
      content: [`Set up: ${names}`, more],
      ...(skip && { main: { label: 'Finish', link: skip } }),
      others,
    }
  },
  ENROLL: factorStep,
  MFA_ENROLL_ACTIVATE: factorStep,
}

const IN_DAYS = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** The operator can hide factor types (`HIDDEN_FACTORS`), so an answer may have no factor left. */
const NO_FACTOR_ALLOWED: Step = {
  title: 'There is no way to continue here',
  content: ['You need a second factor, and none of yours can be used on this page. Ask your help desk.'],
}

const NO_FACTOR_TO_ENROLL: Step = {
  title: 'There is no way to continue here',
  content: ['You need a second factor, and none can be set up on this page. Ask your help desk.'],
}

/** The step for an answer. For an unknown status, factor type or shape, a screen that says so. */
export async function stepOf(answer: Transaction): Promise<Step> {
  const step = await STEPS[answer.status ?? '']?.(answer, linkOf(answer, 'next'))
  const isDeadEnd = step?.main !== undefined && step.main.link === undefined
  if (step !== undefined && !isDeadEnd) return step
  const what = [answer.status, factorsOf(answer)[0]?.factorType].filter(Boolean).join(', ')
  const content = [`The sign-in service asks for a step that this page does not know (${what}).`]
  return { title: 'This page cannot continue', content }
}

/** One action for each factor that this page supports: it shows the same answer, narrowed to that factor. */
function choicesOf(answer: Transaction, relation: string, status: string): Action[] {
  const factors = factorsOf(answer).filter(
    (factor) => isKnown(factor) && linkOf(factor, relation) !== undefined,
  )
  const _links = { ...answer._links, prev: { answer } }
  return factors.map((factor) => {
    const label = nameOf(answer, factor) + (factor.enrollment === 'REQUIRED' ? ' (required)' : '')
    const _embedded = { ...answer._embedded, factor }
    return { label, link: { answer: { ...answer, status, _embedded, _links } } }
  })
}

function recovery(name: string, path: string): Action {
  const next = { name, href: `/api/v1/authn/recovery/${path}` }
  return { label: name, link: { answer: { status: 'RECOVER', _links: { next } } } }
}

/** The broker's response does not reveal whether the user exists, so this text must not promise a message. */
function recoverStep(title: string, link: Link | undefined): Step {
  const content = ['If this account can be recovered this way, you will receive a message.']
  return { title, content, main: { label: 'Send', link, fields: [userNameField(), RECOVERY_METHOD] } }
}

function passwordStep(answer: Transaction, title: string, ...old: Field[]): Step {
  const { complexity, age } = answer._embedded?.policy ?? {}
  const asked = Object.entries({ ...complexity, ...age }).filter(([name, value]) => value && RULES[name])
  const rules = asked.map(([name, value]) => element('li', {}, RULES[name]?.replace('#', String(value))))
  const list = element('ul', { class: 'list' }, ...rules)
  const main = { label: 'Change password', link: linkOf(answer, 'next'), fields: [...old, NEW, REVOKE] }
  return { title, content: rules.length > 0 ? ['Your new password needs:', list] : [], main }
}

/** The rules of the password policy, as texts. `#` is the value. */
const RULES: Readonly<Record<string, string>> = {
  minLength: 'at least # characters',
  minLowerCase: 'lower-case letters: # or more',
  minUpperCase: 'upper-case letters: # or more',
  minNumber: 'numbers: # or more',
  minSymbol: 'symbols, such as ! or ?: # or more',
  excludeUsername: 'no part of your username',
  historyCount: 'none of your last # passwords',
  minAgeMinutes: 'can be changed again after # minutes',
}
