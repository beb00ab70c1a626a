import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { newKey } from '../../src/config/new-key.ts'
import type { Tunables } from '../../src/config/tunables.ts'
import { spawnBroker } from '../support/broker-process.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, TOMAS, WALTER } from '../support/harness.ts'
import { atMost, onlyLimits } from '../support/limits.ts'
import { navigate } from '../support/navigate.ts'
import { replaceFile } from '../support/replace-file.ts'
import { errorOf, handleOf, verifyHref } from '../support/transaction-view.ts'
import { until } from '../support/until.ts'

/** Keys are changed as docs/configuration.md says, in files, while people sign in. */

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

const watchful = (tunables: Tunables): Tunables => ({ ...tunables, secrets: { checkFilesEveryMs: 20 } })
/** Every request to PAM goes there with a token: no list is kept. */
const keepingNoLists = (tunables: Tunables): Tunables => ({
  ...tunables,
  pam: {
    ...tunables.pam,
    lists: { ...tunables.pam.lists, freshMs: 0, staleMs: 0, onErrorMs: 0, meOnErrorMs: 0 },
  },
})

/** A file for a secret, with its variable. */
async function fileFor(name: string, variable: string, content: string) {
  const path = join(folder, name)
  await writeFile(path, content)
  return { path, env: { [variable]: '', [`${variable}_FILE`]: path } }
}

const reloads = ({ logLines }: Gatehouse) =>
  logLines().filter(({ event }) => event === 'secret_reloaded').length

/** Writes the file, and waits until the broker has taken it over. */
async function change(broker: Gatehouse, path: string, content: string) {
  const before = reloads(broker)
  await replaceFile(path, content)
  await until(() => reloads(broker) > before, { what: 'a secret that is taken over' })
}

const signIn = (browser: Browser, username: string, at = harness.gatehouse) =>
  browser.post(`${at.url}/api/v1/authn`, { username, password: PASSWORD })

/** The step that ends a sign-in, at any replica: links bear the address that all of them share. */
function finish(browser: Browser, asked: PageAnswer, at = harness.gatehouse) {
  const { pathname } = new URL(verifyHref(asked, 'token:software:totp'))
  const passCode = harness.sandbox.totpCode(TOMAS)
  return browser.post(at.url + pathname, { stateToken: handleOf(asked), passCode })
}

async function deviceOf({ jar }: Browser, at = harness.gatehouse): Promise<string[]> {
  const cookie = (await jar.getCookies(at.url)).find(({ key }) => key === 'gatehouse-device')
  const [id = '', issued = '', signature = ''] = (cookie?.value ?? '').split('.')
  return [id, `${issued}.${signature}`]
}

function expectNothingWrong(...brokers: Gatehouse[]) {
  const wrong = brokers.flatMap((broker) => broker.logLines().filter(({ level }) => level === 'error'))
  expect(wrong).toEqual([])
}

describe('SECRET_KEYS of one broker', () => {
  const [older, newer] = [newKey(), newKey()]
  let keys: string

  beforeEach(async () => {
    const { path, env } = await fileFor('keys', 'SECRET_KEYS', `${older}\n`)
    keys = path
    harness = await startHarness({
      env: { ...env, SSO_REDIRECTS: 'https://app.example.com/' },
      tunables: watchful,
    })
  })

  test('a new key in front of the old one loses no session, sign-in, device, hand-over or PAM token', async () => {
    const [inside, waiting] = [await harness.visit(), await harness.visit()]
    const { sessionToken } = (await signIn(inside, AMELIA)).json
    expect((await inside.get('/api/v1/pam/me')).status).toBe(200)
    const asked = await signIn(waiting, TOMAS)
    const before = { inside: await deviceOf(inside), waiting: await deviceOf(waiting) }

    await change(harness.gatehouse, keys, `${newer}\n${older}\n`)

    expect((await inside.get(ME)).json.login).toBe(AMELIA)
    expect((await inside.post(`${ME}/lifecycle/refresh`, {})).status).toBe(200)
    const list = await inside.get('/api/v1/sessions')
    expect(list.json.sessions).toMatchObject([{ current: true }])
    expect((await finish(waiting, asked)).json.status).toBe('SUCCESS')
    expect((await waiting.get(ME)).json.login).toBe(TOMAS)
    const deviceTokens = new Set(harness.sandbox.signIns.map(({ deviceToken }) => deviceToken))
    for (const [name, browser] of Object.entries({ inside, waiting })) {
      const [id, proof] = await deviceOf(browser)
      const [idBefore, proofBefore] = before[name as keyof typeof before] // the names of the very same objects
      expect(id).toBe(idBefore)
      expect(proof).not.toBe(proofBefore) // signed anew, by the new key
      expect(deviceTokens).toContain(id)
    }
    const target = encodeURIComponent('https://app.example.com/start')
    const handOver = await navigate(
      inside,
      `${harness.gatehouse.url}/login/sessionCookieRedirect?token=${sessionToken}&redirectUrl=${target}`,
    )
    expect(handOver.status).toBe(302)

    const other = await harness.replica()
    expect((await inside.get(`${other.url}/api/v1/pam/me`)).status).toBe(200)
    expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
    expectNothingWrong(harness.gatehouse, other)
  })

  test('without the old key, what only it knew is forgotten, and nothing is an error', async () => {
    const [gone, kept, waiting] = [await harness.visit(), await harness.visit(), await harness.visit()]
    await signIn(gone, AMELIA)
    await gone.get('/api/v1/pam/me')
    const asked = await signIn(waiting, TOMAS)
    await change(harness.gatehouse, keys, `${newer},${older}`)
    await signIn(kept, WALTER)
    await kept.get(ME)
    const before = { gone: await deviceOf(gone), kept: await deviceOf(kept) }

    await change(harness.gatehouse, keys, newer)

    for (const [method, path, expected] of [
      ['get', '/api/v1/pam/me', [401, 'E0000005']],
      ['get', '/api/v1/sessions', [401, 'E0000005']],
      ['delete', '/api/v1/sessions', [401, 'E0000005']],
      ['delete', ME, [404, 'E0000007']],
      ['get', ME, [404, 'E0000007']],
    ] as const) {
      expect([method, path, errorOf(await gone[method](path))]).toEqual([method, path, expected])
    }
    expect(errorOf(await gone.post(`${ME}/lifecycle/refresh`, {}))).toEqual([404, 'E0000007'])
    harness.forget()
    expect(errorOf(await finish(waiting, asked))).toEqual([401, 'E0000011'])
    expect(harness.upstreamCalls()).toEqual([])
    expect((await deviceOf(gone))[0]).not.toBe(before.gone[0])

    expect((await kept.get('/api/v1/sessions')).json.sessions).toMatchObject([{ current: true }])
    expect(await deviceOf(kept)).toEqual(before.kept)
    expect((await signIn(gone, AMELIA)).json.status).toBe('SUCCESS')
    expect((await gone.get('/api/v1/pam/me')).status).toBe(200)
    expectNothingWrong(harness.gatehouse)
  })

  test('a file with a key that is none changes nothing, and says so by name', async () => {
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    await replaceFile(keys, `${older},plainly-no-key`)
    await until(() => harness.gatehouse.logText().includes('"event":"secret_refused"'))
    expect((await browser.get(ME)).json.login).toBe(AMELIA)
    expect(harness.gatehouse.logText()).not.toContain('plainly-no-key')
  })
})

test('what --new-key prints goes into the file as it is, and behind or before another one', async () => {
  const { output, exited } = spawnBroker('build/main.js', {}, '--new-key')
  expect(await exited).toBe(0)
  const [older, newer] = [output.out, `${newKey()}\n`]
  const { path, env } = await fileFor('keys', 'SECRET_KEYS', older)
  harness = await startHarness({ env, tunables: watchful })
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

test('a browser that is known stays known, so that nobody can lock its person out while keys change', async () => {
  const [older, newer] = [newKey(), newKey()]
  const { path, env } = await fileFor('keys', 'SECRET_KEYS', older)
  const limits = onlyLimits({ password: { perUser: atMost(2, 600) } })
  harness = await startHarness({ env, tunables: (tunables) => watchful(limits(tunables)) })
  const [known, absent] = [await harness.visit(), await harness.visit()]
  for (const browser of [known, absent]) await signIn(browser, AMELIA)
  /** Counts begin anew with a new key: guessed once more, until nobody else may try. */
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
  expect(errorOf(await signIn(absent, AMELIA))).toEqual([429, 'E0000047'])
  expectNothingWrong(harness.gatehouse)
})

test('SECRET_KEYS over two replicas, each phase at one after the other: everybody goes on at either', async () => {
  const [older, newer] = [newKey(), newKey()]
  const one = await fileFor('one', 'SECRET_KEYS', older)
  const two = await fileFor('two', 'SECRET_KEYS', older)
  harness = await startHarness({ env: one.env, tunables: (tunables) => keepingNoLists(watchful(tunables)) })
  const first = { broker: harness.gatehouse, path: one.path, seals: older }
  const second = { broker: await harness.replica(two.env), path: two.path, seals: older }
  const people: { browser: Browser; login: string; device: string; sealedBy: string }[] = []

  const know = async (browser: Browser, login: string, { seals }: typeof first) => {
    const [device = ''] = await deviceOf(browser)
    people.push({ browser, login, device, sealedBy: seals })
  }

  /** People sign in, half of the way here and half of it there, and all who came before are still known at both. */
  const goOn = async () => {
    for (const [here, there] of [
      [first, second],
      [second, first],
    ] as const) {
      const [inside, waiting] = [await harness.visit(), await harness.visit()]
      await signIn(inside, AMELIA, here.broker)
      await know(inside, AMELIA, here)
      const asked = await signIn(waiting, TOMAS, here.broker)
      expect((await finish(waiting, asked, there.broker)).json.status).toBe('SUCCESS')
      await know(waiting, TOMAS, there)
      for (const { usedSteps } of harness.sandbox.user(TOMAS).factors) usedSteps.clear()
    }
    for (const { broker } of [first, second]) {
      for (const { browser, login, device } of people) {
        expect((await browser.get(broker.url + ME)).json.login).toBe(login)
        expect((await deviceOf(browser))[0]).toBe(device)
      }
      const amelia = people.findLast(({ login }) => login === AMELIA)
      expect((await amelia?.browser.get(`${broker.url}/api/v1/pam/me`))?.status).toBe(200)
    }
  }
  const turn = async (replica: typeof first, ...keys: [string, ...string[]]) => {
    await change(replica.broker, replica.path, keys.join())
    replica.seals = keys[0]
  }

  await goOn()
  for (const replica of [first, second]) {
    await turn(replica, older, newer)
    await goOn()
  }
  for (const replica of [first, second]) {
    await turn(replica, newer, older)
    await goOn()
  }
  const everybody = people.splice(0)
  for (const replica of [first, second]) {
    await turn(replica, newer)
    await goOn()
  }

  for (const { browser, device, sealedBy } of everybody) {
    const { status } = await browser.get(ME)
    expect({ sealedBy, status }).toEqual({ sealedBy, status: sealedBy === newer ? 200 : 404 })
    expect((await deviceOf(browser))[0]).toBe(device) // seen since the new key signs: still known
  }
  expect(new Set(everybody.map(({ sealedBy }) => sealedBy)).size).toBe(2)
  // the second replica took the shared token while it knew the key that sealed it, and both have kept it since
  expect(harness.sandbox.pamControl.counts().tokensMinted).toBe(1)
  expectNothingWrong(first.broker, second.broker)
})

describe('credentials of the upstreams, in files', () => {
  test('API tokens in turn: the new one is added, the old one revoked and taken out, while people sign in', async () => {
    const [one = '', two = ''] = ['plainly-fake-ssws-one', 'plainly-fake-ssws-two']
    const { path, env } = await fileFor('token', 'AUTHN_API_TOKEN', one)
    harness = await startHarness({
      env,
      tunables: watchful,
      sandboxConfig: (config) => ({ ...config, apiTokens: [one] }),
    })
    const works = async () => {
      const browser = await harness.visit()
      expect((await signIn(browser, AMELIA)).json.status).toBe('SUCCESS')
    }
    await works()
    for (const [fresh, stale] of [
      [two, one],
      [one, two],
      [two, one],
    ] as const) {
      harness.sandbox.apiTokens.add(fresh)
      await change(harness.gatehouse, path, `${fresh},${stale}`)
      await works()
      harness.sandbox.apiTokens.delete(stale)
      await works()
      await change(harness.gatehouse, path, fresh)
      await works()
    }
    const used = new Set(harness.upstreamCalls().map(({ headers }) => headers.authorization))
    expect(used).toEqual(new Set([`SSWS ${one}`, `SSWS ${two}`]))
    expectNothingWrong(harness.gatehouse)
  })

  test('a new API token that is mistyped shows while the old one serves, and is gone once it is mended', async () => {
    const [old, fresh] = ['plainly-fake-ssws-old', 'plainly-fake-ssws-new']
    const { path, env } = await fileFor('token', 'AUTHN_API_TOKEN', old)
    harness = await startHarness({
      env,
      tunables: watchful,
      sandboxConfig: (config) => ({ ...config, apiTokens: [old, fresh] }),
    })
    const works = async () => {
      expect((await signIn(await harness.visit(), AMELIA)).json.status).toBe('SUCCESS')
    }
    const standby = async () =>
      /^gatehouse_upstream_token_standby (\d)$/m.exec(await harness.gatehouse.metrics())?.[1]
    const told = () =>
      harness.gatehouse
        .logLines()
        .flatMap(({ event, name }) => (/^upstream_token/.test(String(event)) ? [[event, name]] : []))
    await works()
    await change(harness.gatehouse, path, `${fresh}-with-a-slip,${old}`)
    await works()
    expect(await standby()).toBe('1')
    expect(told()).toEqual([['upstream_token_switched', 'standby']])
    await change(harness.gatehouse, path, `${fresh},${old}`)
    await works()
    expect(await standby()).toBe('0')
    expect(told().at(-1)).toEqual(['upstream_token_proved', 'first'])
    expectNothingWrong(harness.gatehouse)
  })

  test('PAM keys in turn: the same', async () => {
    const keyOf = (name: string) => ({
      keyId: `plainly-fake-id-${name}`,
      keySecret: `plainly-fake-secret-${name}`,
    })
    const [one, two] = [keyOf('one'), keyOf('two')]
    const id = await fileFor('id', 'PAM_KEY_ID', one.keyId)
    const secret = await fileFor('secret', 'PAM_KEY_SECRET', one.keySecret)
    harness = await startHarness({
      env: { ...id.env, ...secret.env },
      tunables: (tunables) => keepingNoLists(watchful(tunables)),
    })
    const control = harness.sandbox.pamControl
    control.addKey({ ...one, serviceUser: 'gatehouse' })
    const browser = await harness.visit()
    await signIn(browser, AMELIA)
    const works = async () => {
      expect((await browser.get('/api/v1/pam/me')).status).toBe(200) // read anew: no older list is served
    }
    const write = async (...keys: (typeof one)[]) => {
      const before = reloads(harness.gatehouse)
      await replaceFile(id.path, keys.map(({ keyId }) => keyId).join())
      await replaceFile(secret.path, keys.map(({ keySecret }) => keySecret).join())
      await until(() => reloads(harness.gatehouse) > before)
    }
    await works()
    for (const [fresh, stale] of [
      [two, one],
      [one, two],
    ] as const) {
      control.addKey({ ...fresh, serviceUser: 'gatehouse' })
      await write(fresh, stale)
      await works()
      control.removeKey(stale.keyId)
      await works()
      await write(fresh)
      await works()
    }
  })
})
