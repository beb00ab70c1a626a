import { element } from '../parts/elements.js'
import { BOX, type Field } from '../parts/form.js'
import { CODE, factorStep, isKnown, nameOf } from './factors.js'
import type { Action, Step } from './step.js'
import { factorsOf, type Link, linkOf, type Transaction } from './transaction.js'
import { userNameField } from './user-name.js'

/** Warn of a password that expires soon, and let people set up more than one factor. */
export const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }

/** Where nothing was sent yet, in the form of an answer. */
export const START: Transaction = { status: 'START', _links: { next: { href: '/api/v1/authn' } } }

const PASSWORD: Field = ['password', 'Password', { type: 'password', autocomplete: 'current-password' }]
const OLD: Field = ['oldPassword', 'Current password', { type: 'password', autocomplete: 'current-password' }]
const NEW: Field = ['newPassword', 'New password', { type: 'password', autocomplete: 'new-password' }]
const REVOKE: Field = ['revokeSessions', 'Sign me out everywhere else', BOX]
/** The broker refuses a recovery that does not name its way. */
const WAYS = { EMAIL: 'A link by email', SMS: 'A code by text message', CALL: 'A code by phone call' }
const SEND_ME: Field = ['factorType', 'Send me', {}, Object.entries(WAYS)]

type ToStep = (answer: Transaction, next: Link | undefined) => Step | undefined | Promise<Step | undefined>

/** The whole sign-in: each answer has a status, and each status its step. */
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
    return { title: 'Your account is locked', says: ['Ask your help desk to unlock it.'] }
  },
  RECOVERY_CHALLENGE(_answer, link) {
    const says = ['If there is such an account, a code is on its way to its phone.']
    if (link) return { title: 'Enter the code', says, main: { label: 'Verify', link, fields: [CODE] } }
    const mail = 'If there is such an account, a link is on its way. Open it on this device.'
    return { title: 'Check your email', says: [mail] }
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
    if (factors.length === 0) return NO_WAY
    if (!factors.some(isKnown)) return undefined
    return {
      title: 'How do you want to verify that it is you?',
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
      return factorsOf(answer).length === 0 ? NOTHING_TO_SET_UP : undefined
    if (names === '') return { title, says: ['Choose one. You will be asked for it from now on.'], others }
    const more = others.length > 0 && `You can set up more${skip ? ', or finish' : ''}:`
    return {
      title,
      says: [`Set up: ${names}`, more],
      ...(skip && { main: { label: 'Finish', link: skip } }),
      others,
    }
  },
  ENROLL: factorStep,
  MFA_ENROLL_ACTIVATE: factorStep,
}

const IN_DAYS = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** The operator may hide factor types; then nothing may be left. */
const NO_WAY: Step = {
  title: 'There is no way to continue here',
  says: ['A second proof is needed, and none of yours may be used on this page. Ask your help desk.'],
}

const NOTHING_TO_SET_UP: Step = {
  title: 'There is no way to continue here',
  says: ['A second factor is needed, and none can be set up on this page. Ask your help desk.'],
}

/** What to show for an answer; of a status, factor or shape that this page has never heard of, that it is so. */
export async function stepOf(answer: Transaction): Promise<Step> {
  const step = await STEPS[answer.status ?? '']?.(answer, linkOf(answer, 'next'))
  const isDeadEnd = step?.main !== undefined && step.main.link === undefined
  if (step !== undefined && !isDeadEnd) return step
  const what = [answer.status, factorsOf(answer)[0]?.factorType].filter(Boolean).join(', ')
  const says = [`The sign-in service asks for a step that this page does not know (${what}).`]
  return { title: 'This page cannot continue', says }
}

/** A choice leads to the same answer, narrowed to the one factor. What this page cannot do is not offered. */
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

/** The answer will be the same for everybody, whether there is such a person or not: this must not promise more. */
function recoverStep(title: string, link: Link | undefined): Step {
  const says = ['If the account may be recovered this way, you will hear from us.']
  return { title, says, main: { label: 'Send', link, fields: [userNameField(), SEND_ME] } }
}

function passwordStep(answer: Transaction, title: string, ...old: Field[]): Step {
  const { complexity, age } = answer._embedded?.policy ?? {}
  const asked = Object.entries({ ...complexity, ...age }).filter(([name, value]) => value && RULES[name])
  const rules = asked.map(([name, value]) => element('li', {}, RULES[name]?.replace('#', String(value))))
  const list = element('ul', { class: 'list' }, ...rules)
  const main = { label: 'Change password', link: linkOf(answer, 'next'), fields: [...old, NEW, REVOKE] }
  return { title, says: rules.length > 0 ? ['A new password has to have:', list] : [], main }
}

/** The policy of the answer in words. */
const RULES: Readonly<Record<string, string>> = {
  minLength: 'at least # characters',
  minLowerCase: 'lower-case letters: # or more',
  minUpperCase: 'upper-case letters: # or more',
  minNumber: 'numbers: # or more',
  minSymbol: 'symbols, such as ! or ?: # or more',
  excludeUsername: 'no part of your user name',
  historyCount: 'none of your last # passwords',
  minAgeMinutes: 'can be changed again after # minutes',
}
