/**
 * `npm run nextjs:check`: installs a copy of examples/nextjs from the registry and builds it. Then
 * signs in on its page in Chromium, and requests it with and without a session of a sandbox broker.
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSandbox } from 'gatehouse/sandbox'
import { chromium } from 'playwright-core'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-nextjs-'))
const port = 20_000 + (process.pid % 10_000)
const portalUrl = `http://localhost:${port}`
const sandbox = await startSandbox({
  broker: { publicUrl: portalUrl, signInUrl: `${portalUrl}/sign-in` },
})
const env = {
  ...process.env,
  PORTAL_URL: portalUrl,
  GATEHOUSE_URL: sandbox.brokerUrl,
  NEXT_TELEMETRY_DISABLED: '1',
}
const stdio = ['ignore', 'ignore', 'inherit']
let server
try {
  cpSync(fileURLToPath(new URL('../examples/nextjs', import.meta.url)), folder, { recursive: true })
  const client = fileURLToPath(new URL('../client', import.meta.url))
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: client, stdio })
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: folder, stdio })
  execFileSync('npm', ['run', 'build'], { cwd: folder, env, stdio })
  const next = join(folder, 'node_modules/next/dist/bin/next')
  server = spawn(process.execPath, [next, 'start', '--port', String(port)], { cwd: folder, env, stdio })
  await untilAnswering()
  await checkSignIn()
  await checkPages()
} finally {
  server?.kill()
  await sandbox.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function checkPages() {
  const path = '/app?a=1&b=2'
  const forged = { 'x-auth-request-user': 'forged', 'x-auth-request-preferred-username': 'forged' }
  const target = `${portalUrl}/signin?returnTo=${encodeURIComponent(portalUrl + path)}`
  check('no session: to the sign-in page', await open(path, forged), { status: 303, location: target })
  check('no session, a page’s own call', await open(path, { 'sec-fetch-mode': 'cors' }), { status: 401 })
  const cookie = await signIn()
  check('a session', await open(path, { ...forged, cookie }), {
    status: 200,
    text: 'amelia.stone@example.test',
  })
  await sandbox.stop()
  check('no Gatehouse', await open(path, { cookie }), { status: 503 })
}

/** From the page of an application to the sign-in page, and back. */
async function checkSignIn() {
  const executablePath = execFileSync('sh', ['-c', 'command -v chromium google-chrome'], { encoding: 'utf8' })
  const browser = await chromium.launch({
    executablePath: executablePath.split('\n')[0],
    args: ['--no-sandbox', '--headless', '--disable-gpu'],
  })
  try {
    const page = await browser.newPage()
    await page.goto(`${portalUrl}/app?a=1`)
    const signIn = async (password) => {
      await page.getByLabel('Username').fill(' tomas.berg ')
      await page.getByLabel('Password').fill(password)
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    await signIn('Wrong-Password-1')
    await page.getByRole('alert').getByText('Incorrect username or password').waitFor()
    await signIn('Demo-Password-1')
    await page.getByLabel('Code').fill(sandbox.control.totpCode('tomas.berg'))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Signed in as tomas.berg@example.test').waitFor()
    check('the sign-in page leads back', { text: page.url() }, { text: `${portalUrl}/app?a=1` })
  } finally {
    await browser.close()
  }
}

/** Not with fetch, which says in Sec-Fetch-Mode that it is no navigation. */
function open(path, headers) {
  return new Promise((resolve, reject) => {
    const request = get(portalUrl + path, { headers }, async (response) => {
      const chunks = await response.toArray()
      const { location } = response.headers
      resolve({ status: response.statusCode, location, text: Buffer.concat(chunks).toString() })
    })
    request.on('error', reject)
  })
}

async function signIn() {
  const { headers } = await fetch(`${sandbox.brokerUrl}/api/v1/authn`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: portalUrl },
    body: JSON.stringify({ username: 'amelia.stone', password: 'Demo-Password-1' }),
  })
  return headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
}

function check(what, { status, location, text }, wanted) {
  const isRight =
    status === wanted.status &&
    (wanted.location === undefined || new URL(location, portalUrl).href === wanted.location) &&
    text.includes(wanted.text ?? '')
  console.log(`${isRight ? 'ok    ' : 'FAILED'}  ${what}`)
  if (isRight) return
  console.log({ status, location, text })
  process.exitCode = 1
}

async function untilAnswering() {
  for (;;) {
    if (server.exitCode !== null) throw new Error('next start has ended')
    if (await fetch(portalUrl).catch(() => undefined)) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
