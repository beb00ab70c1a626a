import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { generateKey } from '../../src/config/secret-values.ts'
import type { Tunables } from '../../src/config/tunables.ts'
import { spawnNode } from '../support/broker-process.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { navigate } from '../support/navigate.ts'
import { replaceFile } from '../support/replace-file.ts'
import { errorOf, handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Secret files are changed as docs/configuration.md says, while users sign in. */

const ME = '/api/v1/sessions/me'
let folder: string
let harness: Harness

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-keys-'))
})
afterEach(async () => {
  await harness.stop()
  await rm(folder, { recursive: true })
})

const checkFilesOften = (tunables: Tunables): Tunables => ({
  ...tunables,
  secrets: { checkFilesEveryMs: 20 },
})
/** Disables the group caches, so that every look-up calls the PAM API. */
const withoutListCache = (tunables: Tunables): Tunables => ({
  ...tunables,
  pam: {
    ...tunables.pam,
    lists: { ...tunables.pam.lists, freshMs: 0, staleMs: 0, onErrorMs: 0, meOnErrorMs: 0 },
  },
})

/** Writes a secret to a file; returns its path and the variables that name it. */
async function fileFor(name: string, variable: string, content: string) {
  const path = join(folder, name)
  await writeFile(path, content)
  return { path, env: { [variable]: '', [`${variable}_FILE`]: path } }
}

const reloads = ({ logLines }: Gatehouse) =>
  logLines().filter(({ event }) => event === 'secret_reloaded').length

/** Replaces the file, and waits until the broker has reloaded it. */
async function change(broker: Gatehouse, path: string, content: string) {
  const before = reloads(broker)
  await replaceFile(path, content)
  await until(() => reloads(broker) > before, { what: 'the reload of a secret' })
}

const signIn = (browser: Browser, username: string, broker = harness.gatehouse) =>
  browser.post(`${broker.url}/api/v1/authn`, { username, password: PASSWORD })

/** The last step of a sign-in, at any replica: links have the shared PUBLIC_URL. */
function finish(browser: Browser, asked: PageAnswer, broker = harness.gatehouse) {
  const { pathname } = new URL(verifyHref(asked, 'token:software:totp'))
  const passCode = harness.sandbox.totpCode(TOMAS)
  return browser.post(broker.url + pathname, { stateToken: handleOf(asked), passCode })
}

async function deviceOf({ jar }: Browser, broker = harness.gatehouse): Promise<string[]> {
  const cookie = (await jar.getCookies(broker.url)).find(({ key }) => key === 'gatehouse-device')
  const [id = '', issued = '', signature = ''] = (cookie?.value ?? '').split('.')
  return [id, `${issued}.${signature}`]
}

function expectNothingWrong(...brokers: Gatehouse[]) {
  const wrong = brokers.flatMap((broker) => broker.logLines().filter(({ level }) => level === 'error'))
  expect(wrong).toEqual([])
}

describe('SECRET_KEYS of one broker', () => {
  const [older, newer] = [generateKey(), generateKey()]
  let keys: string

  beforeEach(async () => {
    const { path, env } = await fileFor('keys', 'SECRET_KEYS', `${older}\n`)
    keys = path
    harness = await startHarness({
      env: { ...env, SSO_REDIRECTS: 'https://app.example.com/' },
      tunables: checkFilesOften,
    })
  })

  test('a new key before the old one loses no session, transaction, device, SSO token or PAM token', async () => {
    const [inside, waiting] = [await harness.visit(), await harness.visit()]
    const { sessionToken } = (await signIn(inside, AMELIA)).json
    expect((await inside.get('/api/v1/pam/me')).status).toBe(200)
    const mfaRequired = await signIn(waiting, TOMAS)
    const before = { inside: await deviceOf(inside), waiting: await deviceOf(waiting) }

    await change(harness.gatehouse, keys, `${newer}\n${older}\n`)

    expect((await inside.get(ME)).json.login).toBe(AMELIA)
    expect((await inside.post(`${ME}/lifecycle/refresh`, {})).status).toBe(200)
    const list = await inside.get('/api/v1/sessions')
    expect(list.json.sessions).toMatchObject([{ current: true }])
    expect((await finish(waiting, mfaRequired)).json.status).toBe('SUCCESS')
    expect((await waiting.get(ME)).json.login).toBe(TOMAS)
    const deviceTokens = new Set(harness.sandbox.signIns.map(({ deviceToken }) => deviceToken))
    for (const [name, browser] of Object.entries({ inside, waiting })) {
      const [id, proof] = await deviceOf(browser)
      const [idBefore, proofBefore] = before[name as keyof typeof before] // keys of the same object
      expect(id).toBe(idBefore)
      expect(proof).not.toBe(proofBefore) // signed again, with the new key
      expect(deviceTokens).toContain(id)
    }
    const target = encodeURIComponent('https://app.example.com/start')
    const ssoRedirect = await navigate(
      inside,
      `${harness.gatehouse.url}/login/sessionCookieRedirect?token=${sessionToken}&redirectUrl=${target}`,
    )
    expect(ssoRedirect.status).toBe(302)

    const other = await harness.replica()
    expect((await inside.get(`${other.url}/api/v1/pam/me`)).status).toBe(200)
    expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
    expectNothingWrong(harness.gatehouse, other)
  })

  test('after the old key is removed, records that only it can open are gone, without any error', async () => {
    const [oldKeyOnly, renewed, waiting] = [
      await harness.visit(),
      await harness.visit(),
      await harness.visit(),
    ]
    await signIn(oldKeyOnly, AMELIA)
    await oldKeyOnly.get('/api/v1/pam/me')
    const mfaRequired = await signIn(waiting, TOMAS)
    await change(harness.gatehouse, keys, `${newer},${older}`)
    await signIn(renewed, WALTER)
    await renewed.get(ME)
    const before = { oldKeyOnly: await deviceOf(oldKeyOnly), renewed: await deviceOf(renewed) }

    await change(harness.gatehouse, keys, newer)

    for (const [method, path, expected] of [
      ['get', '/api/v1/pam/me', [401, 'E0000005']],
      ['get', '/api/v1/sessions', [401, 'E0000005']],
      ['delete', '/api/v1/sessions', [401, 'E0000005']],
      ['delete', '/api/v1/devices', [401, 'E0000005']],
      ['delete', ME, [404, 'E0000007']],
      ['get', ME, [404, 'E0000007']],
    ] as const) {
      expect([method, path, errorOf(await oldKeyOnly[method](path))]).toEqual([method, path, expected])
    }
    expect(errorOf(await oldKeyOnly.post(`${ME}/lifecycle/refresh`, {}))).toEqual([404, 'E0000007'])
    harness.clearUpstreamCalls()
    expect(errorOf(await finish(waiting, mfaRequired))).toEqual([401, 'E0000011'])
    expect(harness.upstreamCalls()).toEqual([])
    expect((await deviceOf(oldKeyOnly))[0]).not.toBe(before.oldKeyOnly[0])

    expect((await renewed.get('/api/v1/sessions')).json.sessions).toMatchObject([{ current: true }])
    expect(await deviceOf(renewed)).toEqual(before.renewed)
    expect((await signIn(oldKeyOnly, AMELIA)).json.status).toBe('SUCCESS')
    expect((await oldKeyOnly.get('/api/v1/pam/me')).status).toBe(200)
    expectNothingWrong(harness.gatehouse)
  })

  test('a file with an invalid key changes nothing, and the log names the variable', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    await replaceFile(keys, `${older},plainly-no-key`)
    await until(() => harness.gatehouse.logText().includes('"event":"secret_reload_failed"'))
    expect((await browser.get(ME)).json.login).toBe(AMELIA)
    expect(harness.gatehouse.logText()).not.toContain('plainly-no-key')
  })
})

test('the output of --new-key can be used as the file, and before or after another key', async () => {
  const { output, exited } = spawnNode('build/main.js', {}, '--new-key')
  expect(await exited).toBe(0)
  const [older, newer] = [output.out, `${generateKey()}\n`]
  const { path, env } = await fileFor('keys', 'SECRET_KEYS', older)
  harness = await startHarness({ env, tunables: checkFilesOften })
  const browser = await harness.visit()
  await signIn(browser, AMELIA)
  for (const content of [older + newer, newer + older]) {
    await change(harness.gatehouse, path, content)
    expect((await browser.get(ME)).json.login).toBe(AMELIA)
  }
  await change(harness.gatehouse, path, newer)
  expect((await browser.get(ME)).status).toBe(404)
  expectNothingWrong(harness.gatehouse)
})

test('a known device stays known while keys change, so its user cannot be locked out', async () => {
  const [older, newer] = [generateKey(), generateKey()]
  const { path, env } = await fileFor('keys', 'SECRET_KEYS', older)
  const limits = onlyLimits({ password: { perUser: atMost(2, 600) } })
  harness = await startHarness({ env, tunables: (tunables) => checkFilesOften(limits(tunables)) })
  const [known, idleDevice] = [await harness.visit(), await harness.visit()]
  for (const browser of [known, idleDevice]) await signIn(browser, AMELIA)
  /** Attempts are counted again after a new key, so the limit must be exhausted again. */
  const lockOut = async () => {
    await until(async () => {
      const body = { username: AMELIA, password: 'plainly-wrong-1' }
      return (await (await harness.visit()).post('/api/v1/authn', body)).status === 429
    })
  }

  await lockOut()
  expect((await signIn(known, AMELIA)).json.status).toBe('SUCCESS')
  await change(harness.gatehouse, path, `${newer},${older}`)
  await lockOut()
  expect((await signIn(known, AMELIA)).json.status).toBe('SUCCESS')
  await change(harness.gatehouse, path, newer)
  await lockOut()
  expect((await signIn(known, AMELIA)).json.status).toBe('SUCCESS')
  expect(errorOf(await signIn(idleDevice, AMELIA))).toEqual([429, 'E0000047'])
  expectNothingWrong(harness.gatehouse)
})

test('two replicas that change SECRET_KEYS one after the other serve all users in every phase', async () => {
  const [older, newer] = [generateKey(), generateKey()]
  const one = await fileFor('one', 'SECRET_KEYS', older)
  const two = await fileFor('two', 'SECRET_KEYS', older)
  harness = await startHarness({
    env: one.env,
    tunables: (tunables) => withoutListCache(checkFilesOften(tunables)),
  })
  const first = { broker: harness.gatehouse, path: one.path, seals: older }
  const second = { broker: await harness.replica(two.env), path: two.path, seals: older }
  const signedInUsers: { browser: Browser; login: string; device: string; sealedBy: string }[] = []

  const remember = async (browser: Browser, login: string, { seals }: typeof first) => {
    const [device = ''] = await deviceOf(browser)
    signedInUsers.push({ browser, login, device, sealedBy: seals })
  }

  /** Users sign in, each with one step at either replica; all earlier users are still known at both. */
  const signInAndCheckAll = async () => {
    for (const [firstStep, secondStep] of [
      [first, second],
      [second, first],
    ] as const) {
      const [inside, waiting] = [await harness.visit(), await harness.visit()]
      await signIn(inside, AMELIA, firstStep.broker)
      await remember(inside, AMELIA, firstStep)
      const mfaRequired = await signIn(waiting, TOMAS, firstStep.broker)
      expect((await finish(waiting, mfaRequired, secondStep.broker)).json.status).toBe('SUCCESS')
      await remember(waiting, TOMAS, secondStep)
      for (const { usedSteps } of harness.sandbox.user(TOMAS).factors) usedSteps.clear()
    }
    for (const { broker } of [first, second]) {
      for (const { browser, login, device } of signedInUsers) {
        expect((await browser.get(broker.url + ME)).json.login).toBe(login)
        expect((await deviceOf(browser))[0]).toBe(device)
      }
      const amelia = signedInUsers.findLast(({ login }) => login === AMELIA)
      expect((await amelia?.browser.get(`${broker.url}/api/v1/pam/me`))?.status).toBe(200)
    }
  }
  const changeKeys = async (replica: typeof first, ...keys: [string, ...string[]]) => {
    await change(replica.broker, replica.path, keys.join())
    replica.seals = keys[0]
  }

  await signInAndCheckAll()
  for (const replica of [first, second]) {
    await changeKeys(replica, older, newer)
    await signInAndCheckAll()
  }
  for (const replica of [first, second]) {
    await changeKeys(replica, newer, older)
    await signInAndCheckAll()
  }
  const earlierUsers = signedInUsers.splice(0)
  for (const replica of [first, second]) {
    await changeKeys(replica, newer)
    await signInAndCheckAll()
  }

  for (const { browser, device, sealedBy } of earlierUsers) {
    const { status } = await browser.get(ME)
    expect({ sealedBy, status }).toEqual({ sealedBy, status: sealedBy === newer ? 200 : 404 })
    expect((await deviceOf(browser))[0]).toBe(device) // seen since the new key signs, so still known
  }
  expect(new Set(earlierUsers.map(({ sealedBy }) => sealedBy)).size).toBe(2)
  // the second replica read the shared token while it still had the key, and both keep it in memory
  expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
  expectNothingWrong(first.broker, second.broker)
})

describe('credentials of the upstreams in files', () => {
  test('API tokens can be replaced again and again: add the new one, revoke the old one, remove it', async () => {
    const [one = '', two = ''] = ['plainly-fake-ssws-one', 'plainly-fake-ssws-two']
    const { path, env } = await fileFor('token', 'AUTHN_API_TOKEN', one)
    harness = await startHarness({
      env,
      tunables: checkFilesOften,
      sandboxConfig: (config) => ({ ...config, apiTokens: [one] }),
    })
    const expectSuccess = async () => {
      const browser = await harness.visit()
      expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
    }
    await expectSuccess()
    for (const [fresh, stale] of [
      [two, one],
      [one, two],
      [two, one],
    ] as const) {
      harness.sandbox.apiTokens.add(fresh)
      await change(harness.gatehouse, path, `${fresh},${stale}`)
      await expectSuccess()
      harness.sandbox.apiTokens.delete(stale)
      await expectSuccess()
      await change(harness.gatehouse, path, fresh)
      await expectSuccess()
    }
    const used = new Set(harness.upstreamCalls().map(({ headers }) => headers.authorization))
    expect(used).toEqual(new Set([`SSWS ${one}`, `SSWS ${two}`]))
    expectNothingWrong(harness.gatehouse)
  })

  test('a mistyped new API token is reported while the old one is used, until it is corrected', async () => {
    const [old, fresh] = ['plainly-fake-ssws-old', 'plainly-fake-ssws-new']
    const { path, env } = await fileFor('token', 'AUTHN_API_TOKEN', old)
    harness = await startHarness({
      env,
      tunables: checkFilesOften,
      sandboxConfig: (config) => ({ ...config, apiTokens: [old, fresh] }),
    })
    const expectSuccess = async () => {
      expect((await signIn(await harness.visit(), AMELIA)).json.status).toBe('SUCCESS')
    }
    const standby = async () =>
      /^gatehouse_upstream_token_standby (\d)$/m.exec(await harness.gatehouse.metrics())?.[1]
    const events = () =>
      harness.gatehouse
        .logLines()
        .flatMap(({ event, name }) => (/^upstream_token/.test(String(event)) ? [[event, name]] : []))
    await expectSuccess()
    await change(harness.gatehouse, path, `${fresh}-mistyped,${old}`)
    await expectSuccess()
    expect(await standby()).toBe('1')
    expect(events()).toEqual([['upstream_token_switched', 'standby']])
    await change(harness.gatehouse, path, `${fresh},${old}`)
    await expectSuccess()
    expect(await standby()).toBe('0')
    expect(events().at(-1)).toEqual(['upstream_token_verified', 'first'])
    expectNothingWrong(harness.gatehouse)
  })

  test('PAM keys can be replaced again and again in the same way', async () => {
    const keyOf = (name: string) => ({
      keyId: `plainly-fake-id-${name}`,
      keySecret: `plainly-fake-secret-${name}`,
    })
    const [one, two] = [keyOf('one'), keyOf('two')]
    const id = await fileFor('id', 'PAM_KEY_ID', one.keyId)
    const secret = await fileFor('secret', 'PAM_KEY_SECRET', one.keySecret)
    harness = await startHarness({
      env: { ...id.env, ...secret.env },
      tunables: (tunables) => withoutListCache(checkFilesOften(tunables)),
    })
    const control = harness.sandbox.pamControl
    control.addKey({ ...one, serviceUser: 'gatehouse' })
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    const expectSuccess = async () => {
      expect((await browser.get('/api/v1/pam/me')).status).toBe(200) // fetched again: caches are off
    }
    const write = async (...keys: (typeof one)[]) => {
      const before = reloads(harness.gatehouse)
      await replaceFile(id.path, keys.map(({ keyId }) => keyId).join())
      await replaceFile(secret.path, keys.map(({ keySecret }) => keySecret).join())
      await until(() => reloads(harness.gatehouse) > before)
    }
    await expectSuccess()
    for (const [fresh, stale] of [
      [two, one],
      [one, two],
    ] as const) {
      control.addKey({ ...fresh, serviceUser: 'gatehouse' })
      await write(fresh, stale)
      await expectSuccess()
      control.removeKey(stale.keyId)
      await expectSuccess()
      await write(fresh)
      await expectSuccess()
    }
  })
})
