import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { freePort } from '../support/gatehouse.ts'
import { AMELIA, type Harness, PASSWORD, startHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { makeDirectory, type RedisProcess, removeDirectory, startProcess } from '../support/redis-process.ts'
import { until } from '../support/until.ts'

/** A proxy with a rule that signing in again satisfies: a real nginx, the broker, and a user who follows its redirects. */

const MINUTE_MS = 60_000
/** The broker's clock. */
let nowMs = Date.now()
let harness: Harness
let portal: string
let nginx: RedisProcess
const directory = makeDirectory()

const configuration = (gatehouse: string) => `
  daemon off; master_process off; pid nginx.pid; error_log stderr info;
  events {}
  http {
    access_log off;
    ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`).join(' ')}
    proxy_set_header X-Forwarded-For $remote_addr;
    server {
      listen 127.0.0.1:${new URL(portal).port};
      root pages;
      location = /signin { proxy_pass ${gatehouse}; }
      location = /forward-auth {
        internal;
        proxy_pass ${gatehouse}/forward-auth?maxAuthAge=300;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header X-Forwarded-For $remote_addr;
      }
      location /app/ {
        auth_request /forward-auth;
        error_page 401 = @sign_in;
      }
      location @sign_in {
        return 302 ${portal}/signin?maxAuthAge=300&returnTo=${portal}$request_uri;
      }
    }
  }`

beforeAll(async () => {
  portal = `http://localhost:${await freePort()}`
  harness = await startHarness({ now: () => nowMs, env: { PUBLIC_URL: portal, TRUST_PROXY: '127.0.0.1' } })
  chmodSync(directory, 0o755) // nginx drops its privileges
  mkdirSync(join(directory, 'pages/app'), { recursive: true })
  writeFileSync(join(directory, 'pages/index.html'), 'the sign-in page')
  writeFileSync(join(directory, 'pages/app/report'), 'the report')
  writeFileSync(join(directory, 'nginx.conf'), configuration(harness.gatehouse.url))
  nginx = startProcess(['-p', directory, '-c', join(directory, 'nginx.conf')], directory, 'nginx')
  const isUp = () => fetch(portal).then(({ ok }) => ok || Promise.reject(new Error(nginx.log())))
  await until(() => isUp().catch(() => nginx.hasEnded()), { what: 'nginx' })
  expect(nginx.hasEnded() ? nginx.log() : '').toBe('')
})
afterAll(async () => {
  await nginx?.end()
  await harness?.stop()
  removeDirectory(directory)
})

/** Follows redirects, as a browser does. */
async function open(browser: Browser, url: string, redirects = 0): Promise<{ url: string; text: string }> {
  if (redirects > 5) throw new Error(`too many redirects, the last one to ${url}`)
  const { location, text } = await navigate(browser, url)
  return location === undefined ? { url, text } : open(browser, location, redirects + 1)
}

const signIn = (browser: Browser) => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
const sessionOf = async (browser: Browser) => (await browser.get('/api/v1/sessions/me')).json

test('a sign-in that is too old leads to the sign-in page and, after the sign-in, back to the page', async () => {
  const browser = await harness.visit()
  const report = `${portal}/app/report?year=2026&view=a`
  const arrived = await open(browser, report)
  expect(arrived).toEqual({
    url: `${portal}/?${new URLSearchParams({ returnTo: report })}`,
    text: 'the sign-in page',
  })
  await signIn(browser)
  expect(await open(browser, `${portal}/signin${new URL(arrived.url).search}`)).toEqual({
    url: report,
    text: 'the report',
  })

  const { id } = await sessionOf(browser)
  nowMs += 6 * MINUTE_MS
  const again = await open(browser, report)
  expect(again.text).toBe('the sign-in page')
  expect(Object.fromEntries(new URL(again.url).searchParams)).toEqual({ returnTo: report, prompt: 'login' })
  await signIn(browser)
  expect((await open(browser, `${portal}/signin${new URL(again.url).search}`)).text).toBe('the report')
  const after = await sessionOf(browser)
  expect([after.id, Date.parse(String(after.authenticatedAt))]).toEqual([id, nowMs])
})
