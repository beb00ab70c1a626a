import { element } from '../parts/elements.js'
import { type Field, field } from '../parts/form.js'
import { begunStep, chosenStep, nameOf } from './factors.js'
import { type Choice, CODE, type Step, unknownStep } from './step.js'
import { factorsOf, type Link, linkOf, linksOf, type Transaction } from './transaction.js'

/** Warn of a password that expires soon, and let people set up more than one factor. */
export const OPTIONS = { warnBeforePasswordExpired: true, multiOptionalFactorEnroll: true }

/** Where nothing was sent yet: what a sign-in and a recovery begin with, in the form of an answer. */
export const START: Transaction = {
  status: 'START',
  _links: {
    next: { href: '/api/v1/authn' },
    recovery: [
      { name: 'Forgot your password?', href: '/api/v1/authn/recovery/password' },
      { name: 'Unlock your account', href: '/api/v1/authn/recovery/unlock' },
    ],
  },
}

const USERNAME = field('username', 'User name', { autocomplete: 'username' })
const PASSWORD = field('password', 'Password', { type: 'password', autocomplete: 'current-password' })
const OLD = field('oldPassword', 'Current password', { type: 'password', autocomplete: 'current-password' })
const NEW = field('newPassword', 'New password', { type: 'password', autocomplete: 'new-password' })
const REVOKE = field('revokeSessions', 'Sign me out everywhere else', { type: 'checkbox' })

type ToStep = (answer: Transaction, next: Link | undefined) => Step | Promise<Step>

/** The whole sign-in: each answer has a status, and each status its step. */
const STEPS: Readonly<Record<string, ToStep>> = {
  START: () => startStep(),
  UNAUTHENTICATED({ _embedded }, link) {
    const app = _embedded?.target?.label ?? 'the app'
    const main = { label: 'Sign in', link, fields: [USERNAME, PASSWORD] }
    return { title: `Sign in to go on to ${app}`, main }
  },
  PASSWORD_EXPIRED: (answer, link) => passwordStep('Your password has expired', answer, link, [OLD, NEW]),
  PASSWORD_WARN(answer, link) {
    const days = answer._embedded?.policy?.expiration?.passwordExpireDays
    const when = days === undefined ? 'soon' : days === 1 ? 'tomorrow' : `in ${days} days`
    return passwordStep(`Your password expires ${when}`, answer, link, [OLD, NEW])
  },
  PASSWORD_RESET: (answer, link) => passwordStep('Choose a new password', answer, link, [NEW]),
  MFA_REQUIRED(answer) {
    const [only, ...others] = factorsOf(answer)
    if (only === undefined) return NO_WAY
    if (others.length === 0) return chosenStep(answer, only)
    return { title: 'How do you want to prove it is you?', choices: choicesOf(answer, 'verify') }
  },
  MFA_CHALLENGE: begunStep,
  MFA_ENROLL(answer) {
    const ready = factorsOf(answer).filter(({ status }) => status === 'ACTIVE')
    const names = ready.map((factor) => nameOf(answer, factor)).join(', ')
    const says = [names === '' ? 'Choose one; you will be asked for it from now on.' : `Set up: ${names}`]
    const skip = names === '' ? 'Not now' : 'That is enough'
    return { title: 'Set up how you prove it is you', says, choices: choicesOf(answer, 'enroll'), skip }
  },
  MFA_ENROLL_ACTIVATE: begunStep,
  RECOVERY({ _embedded }, link) {
    const question = field('answer', _embedded?.user?.recovery_question?.question ?? 'Your answer')
    return { title: 'Your recovery question', main: { label: 'Go on', link, fields: [question] } }
  },
  RECOVERY_CHALLENGE(_answer, link) {
    if (link === undefined) return MAIL_SENT
    const says = ['If there is such an account, a code is on its way to its phone.']
    return { title: 'Enter the code', says, main: { label: 'Verify', link, fields: [CODE] } }
  },
  LOCKED_OUT(_answer, link) {
    const title = 'Your account is locked'
    if (link === undefined) return { title, says: ['Ask your help desk to unlock it.'] }
    return recoveryStep(title, link, 'Too many sign-ins have failed. You can unlock it yourself.')
  },
}

/** The operator may hide factor types; then nothing may be left. */
const NO_WAY: Step = {
  title: 'There is no way to go on here',
  says: ['A second proof is needed, and none of yours may be used on this page. Ask your help desk.'],
}

/** There is nothing to type, and no link but the one in the mail, which leads back to this page. */
const MAIL_SENT: Step = {
  title: 'Look into your mail',
  says: ['If there is such an account, a link is on its way. Open it on this device.'],
}

/** What to show for an answer. */
export function stepOf(answer: Transaction): Step | Promise<Step> {
  return STEPS[answer.status]?.(answer, linkOf(answer, 'next')) ?? unknownStep(answer, factorsOf(answer)[0])
}

/** The first screen. */
export function startStep({ username = '', password = '' } = {}): Step {
  const fields = [withValue(USERNAME, username), withValue(PASSWORD, password)]
  const main = { label: 'Sign in', link: linkOf(START, 'next'), fields, sends: { options: OPTIONS } }
  const choices = linksOf(START, 'recovery').map((link) => {
    const { name: label = '' } = link
    return { label, open: () => recoveryStep(label, link) }
  })
  return { title: 'Sign in', main, choices }
}

/** The answer is the same for everybody, whether there is such a person or not: this page must not promise more. */
function recoveryStep(title: string, link: Link, why?: string): Step {
  const says = [why, 'If the account may be recovered this way, you will hear from us.']
  return { title, says, main: { label: 'Send', link, fields: [USERNAME, SEND_ME] } }
}

/** The broker refuses a recovery that does not name its way. */
const SEND_ME: Field = {
  ...field('factorType', 'Send me'),
  options: [
    ['EMAIL', 'A link by e-mail'],
    ['SMS', 'A code by text message'],
    ['CALL', 'A code by phone call'],
  ],
}

function choicesOf(answer: Transaction, relation: string): Choice[] {
  const factors = factorsOf(answer).filter((factor) => linkOf(factor, relation) !== undefined)
  return factors.map((factor) => ({
    label: nameOf(answer, factor) + (factor.enrollment === 'REQUIRED' ? ' (required)' : ''),
    open: () => chosenStep(answer, factor),
  }))
}

function passwordStep(title: string, answer: Transaction, link: Link | undefined, fields: Field[]): Step {
  const rules = rulesOf(answer).map((rule) => element('li', {}, rule))
  const says = ['A new password has to have:', element('ul', { class: 'list' }, ...rules)]
  const main = { label: 'Change password', link, fields: [...fields, REVOKE] }
  return { title, says: rules.length === 0 ? [] : says, main }
}

/** The policy of the answer in words; what it does not ask for is left out. */
function rulesOf({ _embedded }: Transaction): string[] {
  const policy = { ..._embedded?.policy?.complexity, ..._embedded?.policy?.age }
  return Object.entries(policy).flatMap(([name, asked]) => (asked && RULES[name]?.(Number(asked))) || [])
}

const RULES: Readonly<Record<string, (count: number) => string>> = {
  minLength: (count) => `at least ${count} characters`,
  minLowerCase: (count) => `small letters: ${count} or more`,
  minUpperCase: (count) => `capital letters: ${count} or more`,
  minNumber: (count) => `numbers: ${count} or more`,
  minSymbol: (count) => `symbols, such as ! or ?: ${count} or more`,
  excludeUsername: () => 'no part of your user name',
  historyCount: (count) => `nothing you had among your last ${count} passwords`,
  minAgeMinutes: (count) => `${count} minutes to stay in use`,
}

function withValue(from: Field, value: string): Field {
  return { ...from, attributes: { ...from.attributes, value } }
}
