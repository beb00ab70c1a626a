import type { Status } from '../../src/sandbox/authn/statuses.ts'
import type { ModelState } from './model-state.ts'

const UNKNOWN_PERSON = 'nobody.at.all@example.test'
/** Users whose sign-in leads to a status or close to it. */
const LEADS_TO: Partial<Record<Status, readonly [string, ...string[]]>> = {
  PASSWORD_EXPIRED: ['olga.expired'],
  PASSWORD_WARN: ['walter.warn'],
  MFA_REQUIRED: ['tomas.berg', 'max.many'],
  MFA_CHALLENGE: ['sana.sms', 'carl.call', 'emma.mail', 'wanda.key', 'max.many'],
  MFA_ENROLL: ['erin.enroll', 'reggie.required'],
  MFA_ENROLL_ACTIVATE: ['erin.enroll'],
  LOCKED_OUT: ['luis.locked'],
}
const RECOVERABLE = ['amelia.stone', 'tomas.berg', 'carl.call', 'lena.locked', 'luis.locked'] as const
const NOT_RECOVERABLE = ['mila.nophone', 'hugo.norecovery', 'nobody'] as const

/** All ways to start a transaction: sign-in, activation, recovery, a recovery token. */
export function createStarts(state: ModelState): () => Promise<void> {
  const {
    sandbox,
    random,
    pairs,
    require,
    send,
    checkSession,
    learn,
    isInAnothers,
    isPlanted,
    newTab,
    forgetAll,
  } = state

  const begin = async () => {
    const index = random.pick([0, 1, 2])
    const wanted = random.pickOne(pairs.unmetStatuses())
    if (wanted !== undefined && random.chance(0.75)) return beginTowards(wanted, index)
    await random.pick<(at: number) => Promise<void>>([
      signIn,
      signIn,
      signIn,
      activation,
      recovery,
      recovery,
      redemption,
    ])(index)
  }

  /** Starts a transaction close to this status. If the user's state has changed since the start, resets the sandbox first. */
  const beginTowards = async (wanted: Status, index: number) => {
    if (wanted === 'RECOVERY_CHALLENGE') return recovery(index)
    if (wanted === 'PASSWORD_RESET' || wanted === 'RECOVERY') return redemption(index)
    const login = sandbox.user(random.pick(LEADS_TO[wanted] ?? ['amelia.stone'])).login
    await signIn(index, login)
    const reached = state.tabs.at(-1)
    const isThere = reached?.login === login && reached.status === wanted
    if (!isThere && wanted.startsWith('PASSWORD') && random.chance(0.5)) forgetAll(() => sandbox.reset())
  }

  const anyone = () => random.pickOne(sandbox.users())?.login ?? ''

  const signIn = async (index: number, chosen?: string) => {
    const login = chosen ?? anyone()
    const person = sandbox.user(login)
    const isRight = person.password !== undefined && (chosen !== undefined || random.chance(0.85))
    const options = {
      warnBeforePasswordExpired: random.chance(0.7),
      multiOptionalFactorEnroll: random.chance(0.7),
    }
    const { answer, calls } = await send(index, 'POST', '/api/v1/authn', {
      username: login,
      password: isRight ? person.password : 'wrong-password',
      ...(random.chance(0.8) ? { options } : {}),
      ...(random.chance(0.2) ? { relayState: '/deep/link' } : {}),
    })
    if (answer.status === 429) return
    require(calls.length === 1, 'primary authentication is one upstream call', answer)
    require(answer.status === 200 ||
      answer.json.errorCode === 'E0000004', 'neither signed in nor refused', answer)
    if (answer.status !== 200) return checkSession(index)
    const isOver = answer.json.status === 'LOCKED_OUT'
    require(isOver || isRight, 'a wrong password was taken', answer)
    const accepted = isRight && !isOver
    learn(newTab(index, login, answer, { accepted, proved: accepted }), answer, false)
    await checkSession(index)
  }

  const activation = async (index: number) => {
    const login = random.pick(['anna.activate', 'arno.activate', 'aida.nopassword'] as const)
    const person = sandbox.user(login)
    const isRight = random.chance(0.85)
    const token = isRight ? sandbox.activationToken(login) : 'not-an-activation-token'
    const { answer } = await send(index, 'POST', '/api/v1/authn', { token })
    const planted = { browser: index, login: person.login, proved: false }
    require(!isRight || isPlanted(planted, answer) === isInAnothers(planted), 'a planted token', answer)
    if (isPlanted(planted, answer)) return checkSession(index)
    if (answer.status !== 200) {
      require(!isRight || answer.json.errorCode === 'E0000004', 'an activation token was refused', answer)
      return checkSession(index)
    }
    require(isRight, 'a wrong activation token was taken', answer)
    learn(newTab(index, person.login, answer, { accepted: true }), answer, false)
    await checkSession(index)
  }

  const recovery = async (index: number) => {
    const name = random.chance(0.8) ? random.pick(RECOVERABLE) : random.pick(NOT_RECOVERABLE)
    const username = name === 'nobody' ? UNKNOWN_PERSON : sandbox.user(name).login
    const unlocks = random.chance(0.4)
    const factorType = random.pick(['SMS', 'SMS', 'CALL', 'CALL', 'EMAIL'] as const)
    const sentBefore = sandbox.outbox.messages.length
    const { answer } = await send(
      index,
      'POST',
      `/api/v1/authn/recovery/${unlocks ? 'unlock' : 'password'}`,
      {
        username,
        factorType,
        ...(random.chance(0.2) ? { relayState: '/deep/link' } : {}),
      },
    )
    await checkSession(index)
    if (answer.status === 429) return // one code per name in a period
    require(answer.status === 200 && answer.json.status === 'RECOVERY_CHALLENGE', 'recovery tells', answer)
    require((answer.json.stateToken === undefined) === (factorType === 'EMAIL'), 'recovery shape', answer)
    const decoy = sandbox.outbox.messages.length === sentBefore
    const login = name === 'nobody' ? undefined : username
    learn(newTab(index, login, answer, { unlocks, decoy }), answer, false)
  }

  const redemption = async (index: number) => {
    const login = sandbox.user(random.pick(RECOVERABLE)).login
    const unlocks = random.chance(0.3)
    const isRight = random.chance(0.85)
    const recoveryToken = isRight
      ? sandbox.recoveryToken(login, unlocks ? 'UNLOCK' : 'PASSWORD')
      : 'no-such-token'
    const { answer } = await send(index, 'POST', '/api/v1/authn/recovery/token', { recoveryToken })
    const planted = { browser: index, login, proved: false }
    require(!isRight || isPlanted(planted, answer) === isInAnothers(planted), 'a planted token', answer)
    if (isPlanted(planted, answer)) return checkSession(index)
    require((answer.status === 200) === isRight, 'a recovery token', answer)
    if (isRight) learn(newTab(index, login, answer, { unlocks }), answer, false)
    else require(answer.json.errorCode === 'E0000011', 'a wrong recovery token', answer)
    await checkSession(index)
  }

  return begin
}
