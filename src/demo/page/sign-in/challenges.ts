import type * as client from '/demo/client/index.js'
import { createAttestation, getAssertion } from '/demo/client/index.js'
import { type Child, element, fill, foreign, paragraph } from '../parts/elements.js'
import { BOX, type Field, type Values } from '../parts/form.js'
import { texts } from '../parts/language.js'
import { PageError, showMessage, wordsOf } from '../parts/screen.js'
import { openDuo } from './duo.js'
import { CODE, kindOf, nameOf, PASSWORD, PHONE } from './factors.js'
import { keepHandle } from './handle.js'
import type { Move, Next, Screen } from './screens.js'

type Challenge = client.MfaChallenge | client.MfaEnrollActivate

/** Verifies the chosen factor. undefined if this page does not know its type. */
export function verifyScreen(step: client.MfaRequired, factor: client.Factor): Promise<Next> | Next {
  const kind = kindOf(factor)
  if (kind?.cannotVerify || !kind) return kind?.cannotVerify
  if (kind.send === '') return step.verify(factor)
  const fields = [...(kind.send ? [] : [proofField(factor)]), ...rememberBox(step)]
  const go = (values: Values) =>
    step.verify(factor, kind.send ? undefined : proofOf(values), optionsOf(values))
  return { title: nameOf(factor, 'verify'), main: { label: kind.send ?? texts.verify, fields, go } }
}

export async function enrollScreen(step: client.MfaEnroll, factor: client.Factor): Promise<Next> {
  const { ask, cannotEnroll } = kindOf(factor) ?? {}
  if (cannotEnroll) return cannotEnroll
  if (!ask) return step.enroll(factor)
  const questions = factor._links?.questions ? await step.questions(factor) : []
  const options = questions.map(({ question, questionText }) => [question, questionText] as const)
  const choice: Field[] = options.length > 0 ? [['question', texts.question, {}, options]] : []
  const go = ({ passCode, updatePhone, ...profile }: Values) =>
    step.enroll(factor, { profile, ...(passCode && { passCode }) }, updatePhone ? { updatePhone: true } : {})
  return { title: nameOf(factor, 'enroll'), main: { label: texts.continue, fields: [...choice, ...ask], go } }
}

/** The screen of a factor that is being verified. undefined if this page does not know its type. */
export function challengeScreen(step: client.MfaChallenge): Screen | undefined {
  const { factor, result } = step
  const screen = factor && screenFor(step, factor, 'verify')
  return screen && { result, ...screen }
}

/** The screen of a factor that is being set up. */
export function activationScreen(step: client.MfaEnrollActivate): Screen | undefined {
  const { factor, result, restart } = step
  if (restart) return { title: texts.tookTooLong, main: { label: texts.newQrCode, go: restart } }
  const screen = factor && screenFor(step, factor, 'enroll')
  return screen && { result, ...screen }
}

function screenFor(step: Challenge, factor: client.Factor, use: 'verify' | 'enroll'): Screen | undefined {
  const kind = kindOf(factor)
  const explained = use === 'verify' ? kind?.cannotVerify : kind?.cannotEnroll
  if (!kind || explained) return explained
  const title = nameOf(factor, use)
  if (step.next === 'redirect') return redirectScreen(step, title)
  if (kind.answeredBy === 'key') return { ...keyScreen(step), title }
  if (kind.answeredBy === 'duo') return duoScreen(step)
  if (kind.answeredBy === 'phone') return phoneScreen(step, factor)
  const sent = kind.send !== undefined && paragraph(texts.codeSent)
  const label = use === 'verify' ? texts.verify : texts.activate
  const main = { label, fields: [proofField(factor)], go: (values: Values) => submit(step, proofOf(values)) }
  return { title, content: [sent, ...pictureOf(step, factor)], main }
}

/** Sends the proof. Without one, it requests another challenge. */
function submit(
  step: Challenge,
  proof?: client.Proof | client.Attestation,
  options: client.VerifyOptions = {},
): Promise<Next> {
  if (step.next === 'verify') return step.verify(proof as client.Proof, options)
  if (step.next === 'activate') return step.activate(proof as client.Attestation)
  throw new PageError(texts.cannotContinue)
}

/** While Okta answers WAITING, the step can be polled. After a rejection or timeout, the user can request another push. */
function phoneScreen(step: Challenge, factor: client.Factor): Screen | undefined {
  if (step.status === 'MFA_CHALLENGE' && step.next !== 'poll') {
    const go = step.resend ?? (() => submit(step))
    return { title: texts.didNotWork, main: { label: texts.sendAnotherRequest, go } }
  }
  if (step.next !== 'poll') return undefined
  const number = numberOf(step)
  const content = [
    ...pictureOf(step, factor),
    ...(number === undefined
      ? []
      : [paragraph(texts.chooseNumber), element('p', { class: 'code' }, `${number}`)]),
    paragraph(texts.continuesByItself),
    element('p', { class: 'waiting' }, texts.waitingForPhone),
  ]
  const title = step.status === 'MFA_CHALLENGE' ? texts.lookAtPhone : nameOf(factor, 'enroll')
  return { title, content, others: linkMoves(step, factor), wait: (signal) => poll(step, signal) }
}

/** Polls until something changes, and shows failures that may pass. */
async function poll(
  step: client.PolledChallenge | client.PolledActivation,
  signal: AbortSignal,
  everyMs = 2000,
): Promise<Next> {
  let isLost = false
  const onRetry = (error: Error) => {
    isLost = true
    showMessage(wordsOf(error).words)
  }
  for await (const next of step.poll({ signal, everyMs, onRetry })) {
    if (isLost) showMessage('')
    isLost = false
    const isWaiting = 'result' in next && next.result === 'WAITING'
    if (!isWaiting || numberOf(next) !== numberOf(step)) return next
  }
  return step
}

/** With number matching, it may appear only while the page polls. */
function numberOf(step: object): number | undefined {
  return 'correctAnswer' in step ? (step as client.PolledChallenge).correctAnswer : undefined
}

/** Users who cannot scan the QR code can have a link sent to their phone. */
function linkMoves(step: Challenge, factor: client.Factor): Move[] {
  const links = (factor.factorType === 'push' && factor._embedded?.activation?._links?.send) || []
  return links.flatMap(({ name }): Move[] => {
    if (step.status !== 'MFA_ENROLL_ACTIVATE' || !step.sendLink) return []
    const { sendLink } = step
    const notice = texts.linkSent
    if (name === 'email') return [{ label: texts.linkByEmail, go: () => sendLink('email'), notice }]
    const go = ({ phoneNumber = '' }: Values) => sendLink('sms', { profile: { phoneNumber } })
    return name === 'sms' ? [{ label: texts.linkBySms, fields: [PHONE], go, notice }] : []
  })
}

function keyScreen(step: Challenge): Pick<Screen, 'content' | 'main'> {
  const isNew = step.status === 'MFA_ENROLL_ACTIVATE'
  const ask = (): Promise<client.Assertion | client.Attestation> =>
    isNew ? createAttestation(step) : getAssertion(step)
  const go = async (values: Values) => {
    const proof = await ask().catch(() => {
      throw new PageError(texts.noKeyAnswered) // the browser shows the reason itself
    })
    return submit(step, proof, optionsOf(values))
  }
  const main = { label: isNew ? texts.registerKey : texts.useKey, fields: isNew ? [] : rememberBox(step), go }
  return { content: [paragraph(texts.touchKey)], main }
}

/** After the user approves in Duo's frame, the page posts Duo's response. The next poll returns the result. */
function duoScreen(step: Challenge): Screen | undefined {
  const { duo, result } = step
  if (result !== 'WAITING')
    return { title: texts.didNotWork, main: { label: texts.tryAgain, go: () => submit(step) } }
  const frame = duo && openDuo(duo)
  if (step.next !== 'poll' || !frame) return undefined
  return {
    title: 'Duo',
    content: [paragraph(texts.approveInDuo), frame.view],
    others: [{ label: texts.tryAgain, go: () => step }],
    async wait(signal) {
      await duo.complete(await frame.approval())
      return poll(step, signal, 1000)
    },
  }
}

/** After a refusal, only the other moves are offered. */
function redirectScreen(step: Challenge & { next: 'redirect' }, title: Screen['title']): Screen {
  const { result, answer, redirectUrl } = step
  const said = 'factorResultMessage' in answer ? answer.factorResultMessage : undefined
  if (result === 'FAILED') return { title, content: [said !== undefined && paragraph(foreign(said))] }
  const go = () => {
    keepHandle()
    location.assign(redirectUrl)
    return new Promise<Next>(() => undefined) // the page unloads
  }
  return { title, content: [paragraph(texts.otherPage)], main: { label: texts.continue, go } }
}

/** Some orgs send the question's text, others only its name, such as `favorite_toy`. */
function proofField(factor: client.Factor): Field {
  if (factor.factorType === 'password') return PASSWORD
  if (factor.factorType !== 'question') return CODE
  const { questionText, question } = factor.profile ?? {}
  return ['answer', questionText ?? question?.replaceAll('_', ' ') ?? texts.yourAnswer]
}

function proofOf({ passCode = '', answer, password }: Values): client.Proof {
  if (answer !== undefined) return { answer }
  return password === undefined ? { passCode } : { password }
}

function optionsOf({ rememberDevice }: Values): client.VerifyOptions {
  return rememberDevice ? { rememberDevice: true } : {}
}

function rememberBox({ answer }: client.MfaRequired | client.MfaChallenge): Field[] {
  const { allowRememberDevice, rememberDeviceByDefault = false } = answer._embedded.policy ?? {}
  const attributes = { ...BOX, checked: rememberDeviceByDefault }
  return allowRememberDevice ? [['rememberDevice', texts.doNotAskAgain, attributes]] : []
}

/** The broker serves the QR code; its URL has no upstream token. */
function pictureOf(step: Challenge, factor: client.Factor): Child[] {
  const src = 'qrCode' in step && step.qrCode
  const secret = factor.factorType === 'token:software:totp' && factor._embedded?.activation?.sharedSecret
  const key = secret && element('code', {}, secret)
  return [
    src && paragraph(texts.scanQrCode),
    src && element('img', { src, alt: texts.qrCode, class: 'qr', width: '196', height: '196' }),
    key && paragraph(...fill(texts.noCamera, { key })),
  ].map((child) => child || undefined)
}
