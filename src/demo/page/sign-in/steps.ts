import type * as client from '/demo/client/index.js'
import { gatehouse } from '../gatehouse.js'
import { element, fill, paragraph, textOf } from '../parts/elements.js'
import { BOX, type Field, type Values } from '../parts/form.js'
import { language, listOf, texts } from '../parts/language.js'
import { activationScreen, challengeScreen, enrollScreen, verifyScreen } from './challenges.js'
import { CODE, isKnown, nameOf, PASSWORD, passwordField } from './factors.js'
import { explanation, type Move, type Next, type Screen, userNameField } from './screens.js'

const OLD_PASSWORD = passwordField('oldPassword', texts.currentPassword, 'current')
const NEW_PASSWORD = passwordField('newPassword', texts.newPassword, 'new')
const REVOKE: Field = ['revokeSessions', texts.signOutElsewhere, BOX]
/** The broker refuses a recovery without a `factorType`. */
const RECOVERY_METHODS = (['EMAIL', 'SMS', 'CALL'] as const).map((way) => [way, texts[way]] as const)
const RECOVERY_METHOD: Field = ['factorType', texts.sendMe, {}, RECOVERY_METHODS]

export function startScreen(): Screen {
  const forgot = recoverScreen(texts.forgotPassword, (request) => gatehouse.recoverPassword(request))
  const unlock = recoverScreen(texts.unlockAccount, (request) => gatehouse.unlockAccount(request))
  return {
    title: texts.signIn,
    main: signInMove((credentials) => gatehouse.signIn(credentials)),
    others: [forgot, unlock].map((screen) => ({ label: screen().title, go: screen })),
  }
}

/** The screen of a step. For an unknown status, factor type or shape, a screen that says so. */
export async function screenOf(step: client.SignInStep): Promise<Next> {
  const next = (await ofStep(step)) ?? unknownScreen(step)
  return 'status' in next ? next : { ways: waysOf(step, next.main), ...next }
}

function ofStep(step: client.SignInStep): Promise<Next> | Next {
  switch (step.status) {
    case 'UNAUTHENTICATED': {
      const app = step.answer._embedded.target?.label ?? texts.theApp
      return { title: fill(texts.signInFor, { app }), main: signInMove(step.signIn) }
    }
    case 'LOCKED_OUT':
      return lockedScreen(step)
    case 'PASSWORD_EXPIRED':
      return passwordScreen(step, texts.passwordExpired)
    case 'PASSWORD_WARN':
      return passwordScreen(step, textOf(fill(texts.passwordExpires, { when: whenExpires(step) })))
    case 'PASSWORD_RESET':
      return passwordScreen(step, texts.choosePassword)
    case 'RECOVERY': {
      const question = step.answer._embedded.user.recovery_question?.question ?? texts.yourAnswer
      const go = ({ answer = '' }: Values) => step.answerQuestion(answer)
      return {
        title: texts.recoveryQuestion,
        main: { label: texts.continue, fields: [['answer', question]], go },
      }
    }
    case 'RECOVERY_CHALLENGE': {
      const { verify } = step
      if (!verify) return explanation(texts.checkEmail, texts.ifLinkSent)
      const go = ({ passCode = '' }: Values) => verify({ passCode })
      const main = { label: texts.verify, fields: [CODE], go }
      return { ...explanation(texts.enterCode, texts.ifCodeSent), main }
    }
    case 'MFA_REQUIRED':
      return requiredScreen(step)
    case 'MFA_ENROLL':
      return setUpScreen(step)
    case 'MFA_CHALLENGE':
      return challengeScreen(step)
    case 'MFA_ENROLL_ACTIVATE':
      return activationScreen(step)
    default:
      return undefined
  }
}

function unknownScreen(step: client.SignInStep): Screen {
  const factor = 'factors' in step ? step.factors[0] : 'factor' in step ? step.factor : undefined
  const what = [step.status, factor?.factorType].filter(Boolean).join(', ')
  return { title: texts.cannotContinue, content: [paragraph(...fill(texts.unknownStep, { what }))] }
}

/** The moves that every step may have. */
function waysOf(step: client.SignInStep, main: Move | undefined): Move[] {
  const { resend, skip, previous }: Partial<Record<'resend' | 'skip' | 'previous', () => Promise<Next>>> =
    step
  const cancel = async () => void (await step.cancel())
  const ways = [
    { label: texts.sendAgain, go: resend, notice: texts.sentAgain },
    { label: texts.skip, go: skip },
    { label: texts.back, go: previous },
    { label: step.stateToken ? texts.cancel : texts.backToSignIn, go: cancel as () => Promise<Next> },
  ]
  return ways.flatMap(({ go, ...way }) => (go && go !== main?.go ? { go, ...way } : []))
}

function signInMove(
  signIn: (credentials: { username: string; password: string }) => Promise<client.SignInStep>,
): Move {
  const go = ({ username = '', password = '' }: Values) => signIn({ username, password })
  return { label: texts.signIn, fields: [userNameField(), PASSWORD], go }
}

/** The broker's response does not reveal whether the user exists, so this text must not promise a message. */
function recoverScreen(
  title: string,
  recover: (request: client.RecoveryRequest) => Promise<client.SignInStep>,
): () => Screen {
  const go = ({ username = '', factorType }: Values) =>
    recover({ username, factorType: factorType as client.RecoveryRequest['factorType'] })
  return () => ({
    ...explanation(title, texts.ifRecoverable),
    main: { label: texts.send, fields: [userNameField(), RECOVERY_METHOD], go },
    ways: [{ label: texts.backToSignIn, go: () => undefined }],
  })
}

function lockedScreen({ unlock }: client.LockedOut): Screen {
  if (unlock) return recoverScreen(texts.accountLocked, unlock)()
  return explanation(texts.accountLocked, texts.askHelpDeskToUnlock)
}

function whenExpires({ answer }: client.PasswordWarn): string {
  const days = answer._embedded.policy?.expiration?.passwordExpireDays
  if (typeof days !== 'number') return texts.soon
  return new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(days, 'day')
}

function passwordScreen(
  step: client.PasswordExpired | client.PasswordWarn | client.PasswordReset,
  title: string,
): Screen {
  const { complexity, age } = step.answer._embedded.policy ?? {}
  const values: Readonly<Record<string, unknown>> = { ...complexity, ...age }
  const rules = Object.entries(texts.rules).flatMap(([name, text]) => {
    const value = values[name] // −1 and 0: no such rule
    return value === true || Number(value) > 0 ? element('li', {}, ...fill(text, { n: Number(value) })) : []
  })
  const go = ({ oldPassword = '', newPassword = '', revokeSessions }: Values) => {
    const reset = { newPassword, revokeSessions: revokeSessions !== undefined }
    if (step.status === 'PASSWORD_RESET') return step.resetPassword(reset)
    return step.changePassword({ ...reset, oldPassword })
  }
  const old = step.status === 'PASSWORD_RESET' ? [] : [OLD_PASSWORD]
  const main = { label: texts.changePassword, fields: [...old, NEW_PASSWORD, REVOKE], go }
  const list = [paragraph(texts.passwordNeeds), element('ul', { class: 'list' }, ...rules)]
  return { title, content: rules.length > 0 ? list : [], main }
}

/** The operator can hide factor types (`HIDDEN_FACTORS`), so an answer may have no factor left. */
function requiredScreen(step: client.MfaRequired): Promise<Next> | Next {
  const [first, ...more] = step.factors
  if (first === undefined) return explanation(texts.noWay, texts.noFactor)
  if (more.length === 0) return verifyScreen(step, first)
  const known = step.factors.filter(isKnown)
  if (known.length === 0) return undefined
  const others = known.map((factor) => ({
    label: nameOf(factor, 'verify'),
    go: async () => withBack(step, await verifyScreen(step, factor)),
  }))
  return { title: texts.chooseFactor, others }
}

function setUpScreen(step: client.MfaEnroll): Screen | undefined {
  const { factors, skip } = step
  const ready = factors
    .filter(({ status }) => status === 'ACTIVE')
    .map((factor) => textOf(nameOf(factor, 'enroll')))
  const others = factors
    .filter((factor) => isKnown(factor) && factor._links?.enroll)
    .map((factor) => {
      const name = nameOf(factor, 'enroll')
      const label = factor.enrollment === 'REQUIRED' ? fill(texts.required, { label: textOf(name) }) : name
      return { label, go: async () => withBack(step, await enrollScreen(step, factor)) }
    })
  if (ready.length > 0) {
    const more = others.length > 0 && paragraph(skip ? texts.setUpMoreOrFinish : texts.setUpMore)
    const content = [paragraph(...fill(texts.setUp, { names: listOf(ready) })), more]
    return { title: texts.setUpFactor, content, main: skip && { label: texts.finish, go: skip }, others }
  }
  if (others.length > 0) return { ...explanation(texts.setUpFactor, texts.chooseOne), others }
  return factors.length === 0 ? explanation(texts.noWay, texts.noFactorToSetUp) : undefined
}

/** From the screen of a chosen factor, the user can go back to the choice. */
function withBack(step: client.MfaRequired | client.MfaEnroll, next: Next): Next {
  if (next === undefined || 'status' in next) return next
  const back = { label: texts.back, go: () => step }
  return { ...next, ways: [back, ...waysOf(step, undefined).filter(({ label }) => label === texts.cancel)] }
}
