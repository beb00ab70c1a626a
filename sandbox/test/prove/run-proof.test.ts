import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { replayFolders } from '../../../scripts/replay-folders.ts'
import type { CheckResult } from '../../src/prove/check.ts'
import { ALL_CHECKS } from '../../src/prove/checks/all-checks.ts'
import { createOutputFolder } from '../../src/prove/output-folder.ts'
import { NAME_PREFIX } from '../../src/prove/owned-objects.ts'
import { passwordPolicy } from '../../src/prove/policies.ts'
import { reportMarkdown } from '../../src/prove/report.ts'
import { type Proof, runProof } from '../../src/prove/run-proof.ts'
import { type SandboxTarget, startSandboxTarget } from '../../src/prove/sandbox-target.ts'
import type { SandboxConfig } from '../../src/sandbox-config.ts'
import { scanFolder, secretsIn } from './folder-secrets.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function start(change?: (config: SandboxConfig) => void): Promise<SandboxTarget> {
  const started = await startSandboxTarget(change ? { change } : {})
  closers.push(started.close)
  return started
}

interface RunOptions {
  readonly ids?: readonly string[]
  readonly signal?: AbortSignal
  readonly onResult?: (result: CheckResult) => void
  readonly target?: Partial<SandboxTarget['target']>
}

/** Waits only as long as it must: pauses are over at once. */
function prove(
  { target }: SandboxTarget,
  { ids, signal = new AbortController().signal, onResult = () => {}, target: change = {} }: RunOptions = {},
): Promise<Proof> {
  return runProof({
    target: { ...target, ...change },
    checks: ids === undefined ? ALL_CHECKS : ALL_CHECKS.filter(({ id }) => ids.includes(id)),
    journal: { add: () => {} },
    isSandbox: true,
    onResult,
    now: Date.now,
    pause: () => sleep(5),
    signal,
  })
}

const resultsOf = ({ report }: Proof) =>
  Object.fromEntries(report.results.map(({ check, result }) => [check.id, result]))

function namesOfRuns({ sandbox }: SandboxTarget): string[] {
  return sandbox
    .users()
    .map(({ login }) => login)
    .filter((login) => login.startsWith(NAME_PREFIX))
}

const POLICY_TYPES = ['OKTA_SIGN_ON', 'PASSWORD']

/** As an administrator, for what is there beside the run. */
async function manage(
  { target }: SandboxTarget,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`${target.orgUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `SSWS ${target.apiToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return response.json()
}

async function policiesOf(started: SandboxTarget): Promise<string[]> {
  const lists = await Promise.all(
    POLICY_TYPES.map((type) => manage(started, 'GET', `/policies?type=${type}`)),
  )
  return lists.flat().map((policy) => String(Object(policy).name))
}

/** Policies for everyone, which ask for no factor and let every password be changed. */
async function addOwnPolicies(started: SandboxTarget): Promise<void> {
  const [everyone] = [await manage(started, 'GET', '/groups?q=Everyone')].flat()
  const conditions = { people: { groups: { include: [Object(everyone).id] } } }
  const { policy, rule } = passwordPolicy(0)
  const signon = { access: 'ALLOW', requireFactor: false }
  for (const [name, own, ownRule] of [
    ['First', { type: 'OKTA_SIGN_ON' }, { type: 'SIGN_ON', actions: { signon } }],
    ['Second', { type: 'OKTA_SIGN_ON' }, { type: 'SIGN_ON', actions: { signon } }],
    ['Passwords', policy, rule],
  ] as const) {
    const { id } = Object(await manage(started, 'POST', '/policies', { ...own, name, conditions }))
    await manage(started, 'POST', `/policies/${id}/rules`, { ...ownRule, name })
  }
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-proof-'))
  closers.push(() => rmSync(folder, { recursive: true }))
  return folder
}

test('a run on the sandbox proves all, leaves nothing, and writes a report without a secret', async () => {
  const started = await start()
  const { sandbox, target } = started
  const configured = sandbox.users().map(({ login }) => login)
  const proof = await prove(started)
  const not = proof.report.results.filter(({ result }) => result !== 'proved')
  expect(not.filter(({ check }) => !check.needs.includes('identityEngine'))).toEqual([])
  expect(proof.report).toMatchObject({ stopped: undefined, left: [] })
  expect(sandbox.users().map(({ login }) => login)).toEqual(configured)

  const sentTo = sandbox.outbox.messages.map(({ to }) => to)
  expect(sentTo.filter((to) => !to.endsWith('@proof.example.test') && to !== target.phone)).toEqual([])

  const folder = newFolder()
  createOutputFolder(folder).write([proof])
  const { files, found } = scanFolder(folder, [
    target.orgUrl,
    target.apiToken,
    sandbox.apiToken,
    target.phone ?? '',
    target.mailDomain ?? '',
    ...sandbox.tokensIssued(),
    ...sandbox.pamControl.bearerTokens(),
    ...secretsIn(sandbox.requestLog.authn.entries),
  ])
  expect(files.length).toBeGreaterThan(500)
  expect(found).toEqual([])

  const replayed = replayFolders([join(folder, 'recordings')])
  expect({
    code: replayed.code,
    findings: replayed.out.split('\n').filter((line) => line.startsWith('  ')),
  }).toEqual({
    code: 0,
    findings: [],
  })
})

test('on Identity Engine, the checks about it are proved', async () => {
  const started = await start((config) => {
    config.pipeline = 'idx'
  })
  const ids = ALL_CHECKS.filter(({ needs }) => needs.includes('identityEngine')).map(({ id }) => id)
  const proof = await prove(started, { ids: [...ids, 'S9'] })
  expect(resultsOf(proof)).toEqual({
    ...Object.fromEntries(ids.map((id) => [id, 'proved'])),
    S9: 'not testable here',
  })
})

/** How an org differs: in its configuration, or once it runs. */
interface Wrong {
  readonly config?: (config: SandboxConfig) => void
  readonly running?: (sandbox: SandboxTarget['sandbox']) => void
}

const setting = (changed: Partial<SandboxTarget['sandbox']['settings']>): Wrong => ({
  running: ({ settings }) => Object.assign(settings, changed),
})

/** One for each kind of belief, by the check that tells. */
const WRONG_ORGS: Readonly<Record<string, Wrong>> = {
  'R1.token-email': setting({ tokenRecoveryResets: false }),
  R7: setting({ usedLink: 'E0000110' }),
  R8: {
    config: ({ limits }) => {
      limits.wrongRecoveryAnswers = 7
    },
  },
  'A4.time': setting({ recoveryLoggedAt: 'completion' }),
  'V1.hook': { running: ({ faults }) => faults.events.set([{ kind: 'silence' }]) },
  A1: setting({ sessionTokenReplacesSession: true }),
  R3: setting({ forwardedForNeedsToken: true }),
  S9: setting({ remembersUnasked: true }),
  S5: setting({ wrongOldPassword: 'documented' }),
  S6: setting({ language: 'de' }),
  'R12.sms': {
    config: ({ limits }) => {
      limits.resendSeconds = 0
    },
  },
  'S7.age': setting({ youngPassword: 'all-rules' }),
  'token.verifyFactor': setting({ verifyNeedsToken: true }),
  F4: {
    config: (config) => {
      config.requiresOriginHeader = true
    },
  },
  O4: { running: ({ pamControl }) => pamControl.setErrorShape('message') },
}

describe('an org that differs in one belief is told right', () => {
  const ids = Object.keys(WRONG_ORGS)
  test.each(ids.map((id, index) => ({ id, control: ids[(index + 1) % ids.length] ?? '' })))(
    '$id is disproved, and $control is proved',
    async ({ id, control }) => {
      const { config, running = () => {} } = WRONG_ORGS[id] ?? {}
      const started = await start(config)
      running(started.sandbox)
      const eventHook = { url: undefined, port: 0, waitMs: 0 }
      expect(resultsOf(await prove(started, { ids: [id, control], target: { eventHook } }))).toEqual({
        [id]: 'disproved',
        [control]: 'proved',
      })
    },
  )
})

test('an org that refuses everything proves only what administrators see', async () => {
  const started = await start()
  const refusal = { kind: 'status', status: 403, body: { errorCode: 'E0000006' } } as const
  const paths = ['/api/v1/authn', '/api/v1/sessions', '/login']
  started.sandbox.faults.authn.set(paths.map((path) => ({ ...refusal, path })))
  started.sandbox.faults.pam.set(refusal)
  const proof = await prove(started)
  const proved = Object.entries(resultsOf(proof)).flatMap(([id, result]) => (result === 'proved' ? [id] : []))
  expect(proved).toEqual(['V1', 'S7.age', 'limits.headers', 'pam.limit'])
  expect(proof.report.left).toEqual([])
})

test('without a phone, a mail domain, a portal or messages, such checks are not testable here', async () => {
  const started = await start()
  const none = {
    phone: undefined,
    mailDomain: undefined,
    portalOrigin: undefined,
    person: undefined,
    pam: undefined,
    eventHook: undefined,
  }
  const ids = ['R1.own-email', 'R1.own-sms', 'R4.staged', 'F2', 'F4', 'O4', 'V1.hook', 'R2']
  const proof = await prove(started, { ids, target: { ...none, brokerToken: undefined } })
  const { R2, ...others } = resultsOf(proof)
  expect(R2).toBe('proved')
  expect(new Set(Object.values(others))).toEqual(new Set(['not testable here']))
  expect(started.sandbox.outbox.messages).toEqual([])
})

test('a token that may not create users: not testable, with what the org refused', async () => {
  const started = await start()
  const proof = await prove(started, { ids: ['R2'], target: { apiToken: started.sandbox.apiToken } })
  expect(proof.report.results).toMatchObject([
    { result: 'not testable here', seen: 'the org refuses POST /api/v1/users: 403 E0000006' },
  ])
})

test('an org that lets users change an expired password at any age tells administrators', async () => {
  const started = await start()
  started.sandbox.settings.youngPassword = 'allowed-if-expired'
  const { report } = await prove(started, { ids: ['S7.age'] })
  expect(report.results).toMatchObject([
    { result: 'proved', seen: expect.stringContaining('to an administrator') },
  ])
})

test('a token that may not create policies: not testable, and no failure', async () => {
  const started = await start()
  const body = { errorCode: 'E0000006' }
  started.sandbox.faults.authn.set({ kind: 'status', status: 403, body, path: '/api/v1/policies' })
  const { report } = await prove(started, { ids: ['S7.age', 'R4.too-young', 'S9', 'S7'] })
  const refused = { result: 'not testable here', seen: 'the org refuses POST /api/v1/policies: 403 E0000006' }
  expect(Object.fromEntries(report.results.map(({ check, ...seen }) => [check.id, seen]))).toMatchObject({
    'S7.age': refused,
    'R4.too-young': refused,
    S9: refused,
    S7: { result: 'proved' },
  })
  expect(report).toMatchObject({ stopped: undefined, left: [], moved: [] })
})

describe('an org with policies of its own', () => {
  const OWN = ['First', 'Second', 'Default Policy', 'Passwords', 'Default Policy']

  test('those of the run are applied instead of them, and have left their order as it was', async () => {
    const started = await start()
    await addOwnPolicies(started)
    expect(await policiesOf(started)).toEqual(OWN)
    const seen: Promise<string[]>[] = []
    const proof = await prove(started, {
      ids: ['S7.age', 'R4.too-young', 'S9'],
      onResult: () => seen.push(policiesOf(started)),
    })
    expect(resultsOf(proof)).toEqual({ 'R4.too-young': 'proved', S9: 'proved', 'S7.age': 'proved' })
    expect(new Set((await Promise.all(seen)).map(({ length }) => length)).size).toBeGreaterThan(1)
    expect(await policiesOf(started)).toEqual(OWN)
    expect(proof.report).toMatchObject({ left: [], moved: [] })
  })

  test('an order that is not the same afterwards is told', async () => {
    const started = await start()
    await addOwnPolicies(started)
    const listed = [await manage(started, 'GET', '/policies?type=OKTA_SIGN_ON')].flat()
    const faults = { kind: 'status', status: 200, path: '/api/v1/policies', method: 'GET' } as const
    const onResult = () => started.sandbox.faults.authn.set({ ...faults, body: listed.toReversed() })
    const proof = await prove(started, { ids: ['S9'], onResult })
    expect(proof.report).toMatchObject({ left: [], moved: ['OKTA_SIGN_ON'] })
    expect(reportMarkdown(proof.report)).toContain('Look at the order of the policies')
  })
})

describe('whatever ends a run, what it created is deleted, and nobody else is touched', () => {
  const changed = ({ sandbox }: SandboxTarget) =>
    sandbox.requestLog.authn.entries.filter(
      ({ method, path }) => method !== 'GET' && /^\/api\/v1\/users\/./.test(path),
    )

  test('an interruption', async () => {
    const started = await start()
    const abort = new AbortController()
    const ids = ['S7.age', 'S9']
    const proof = await prove(started, { ids, signal: abort.signal, onResult: () => abort.abort() })
    expect(proof.report).toMatchObject({ stopped: 'it was interrupted', left: [], results: { length: 1 } })
    expect(namesOfRuns(started)).toEqual([])
    expect(await policiesOf(started)).toEqual(['Default Policy', 'Default Policy'])
  })

  test.each([
    ['a call of the run', undefined],
    ['a call of Gatehouse', '/api/v1/authn'],
  ])('the org’s limit, which is named with its reset: %s', async (_, path) => {
    const started = await start()
    const onResult = () =>
      started.sandbox.faults.authn.set({ kind: 'rate-limited', retrySeconds: 30, method: 'POST', path })
    const proof = await prove(started, { ids: ['R2', 'D1', 'D2'], onResult })
    expect(proof.report.stopped).toMatch(/^429: the org's limit is used up until 20\d\d-/)
    expect(proof.report.results).toHaveLength(1)
    expect(namesOfRuns(started)).toEqual([])
  })

  test('an answer that is lost: the user exists, and its id is not known', async () => {
    const started = await start()
    started.sandbox.faults.authn.set({ kind: 'half', path: '/api/v1/users', method: 'POST', times: 1 })
    const proof = await prove(started, { ids: ['R2'] })
    expect(proof.report.results).toMatchObject([{ result: 'unclear' }])
    expect(proof.report.left).toEqual([])
    expect(namesOfRuns(started)).toEqual([])
  })

  test('only users of the run are changed', async () => {
    const started = await start()
    const known = new Set(started.sandbox.users().map(({ id }) => id))
    await prove(started, { ids: ['R5', 'V1', 'U1', 'S9'] })
    const ids = changed(started).map(({ path }) => path.split('/')[4])
    expect(ids.length).toBeGreaterThan(10)
    expect(ids.filter((id) => known.has(id ?? ''))).toEqual([])
  })
})
