import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { nginxModule } from '../support/proxies.ts'
import {
  freePort,
  makeDirectory,
  type RedisProcess,
  removeDirectory,
  startProcess,
} from '../support/redis-process.ts'
import { until } from '../support/until.ts'

/**
 * "Try it" of docs/applications.md, as it is: its commands run with the product that is built. Only
 * paths and ports of the machine are replaced, and nothing is installed.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WIKI = 'https://wiki.example.localhost'
const PORTAL = 'https://portal.example.localhost'

let directory: string
let processes: RedisProcess[]
let chromium: Browser

function commands(): readonly string[] {
  const page = readFileSync(join(ROOT, 'docs/applications.md'), 'utf8')
  const [section = ''] = page.split('\n## Try it\n')[1]?.split('\n## ') ?? []
  const blocks = [...section.matchAll(/^ {3}```sh\n([\s\S]*?)^ {3}```$/gm)].map(([, block = '']) => block)
  return blocks.map((block) => block.replaceAll(/^ {3}/gm, ''))
}

const NOT_HERE = [/^npm install\n/, /^sudo apt-get install .*\n/m, /^sudo nginx -t && sudo systemctl .*\n/m]

async function start() {
  const ports = new Set<number>()
  while (ports.size < 9) ports.add(await freePort())
  const [https, okta, pam, gatehouse, ops, application, replica1, replica2, replica3] = ports
  const machine: readonly (readonly [string, unknown])[] = [
    ['/etc/nginx', join(directory, 'nginx')],
    ['/srv', join(directory, 'srv')],
    ['127.0.0.1:9081', `127.0.0.1:${okta}`],
    ['127.0.0.1:9082', `127.0.0.1:${pam}`],
    ['--port 9081', `--port ${okta}`],
    ['npm run sandbox --', `export SANDBOX_PAM_PORT=${pam}; exec node sandbox/dist/package/main.js`],
    ['\nnode dist/main.js', `\nexport PORT=${gatehouse} OPS_PORT=${ops}\nexec node dist/main.js`],
    ['node -e', 'exec node -e'],
    ['3001', application],
    ['sudo ', ''],
  ]
  const written = commands().map((block) => {
    const kept = NOT_HERE.reduce((text, line) => text.replace(line, ''), block)
    return machine.reduce((text, [from, to]) => text.replaceAll(from, String(to)), kept)
  })
  expect(written).toHaveLength(4)
  const [sandbox = '', broker = '', app = '', nginx = ''] = written
  const run = (script: string) => startProcess(['-c', `cd ${ROOT} && ${script}`], directory, 'bash')
  mkdirSync(join(directory, 'nginx/conf.d'), { recursive: true })
  execFileSync('bash', ['-ec', nginx], { cwd: ROOT, stdio: 'pipe' })
  const ofNginx: readonly (readonly [string, unknown])[] = [
    ['listen 443 ssl', `listen 127.0.0.1:${https} ssl`],
    ['/etc/nginx', join(directory, 'nginx')],
    ['/srv/portal', join(directory, 'srv/portal')],
    ['18081', replica1],
    ['18082', replica2],
    ['127.0.0.1:8080', `127.0.0.1:${gatehouse}`],
    ['127.0.0.1:8081', `127.0.0.1:${replica3}`], // nothing is there, as in the document
    ['127.0.0.1:3001', `127.0.0.1:${application}`],
  ]
  for (const name of ['nginx-server.conf', 'nginx-host.conf', 'conf.d/gatehouse.conf']) {
    const file = join(directory, 'nginx', name)
    const text = readFileSync(file, 'utf8')
    writeFileSync(
      file,
      ofNginx.reduce((changed, [from, to]) => changed.replaceAll(from, String(to)), text),
    )
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const main = join(directory, 'nginx/nginx.conf')
  writeFileSync(
    main,
    `daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr info;
    load_module ${nginxModule('http_js')};
    events {}
    http {
      access_log off;
      types { text/html html; text/javascript js; text/css css; image/svg+xml svg; }
      ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n')}
      include ${directory}/nginx/conf.d/*.conf;
    }`,
  )
  processes.push(run(sandbox), run(broker), run(app))
  processes.push(startProcess(['-p', directory, '-c', main], directory, 'nginx'))
  const isUp = async (port: number | undefined) =>
    (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) !== undefined
  await until(
    async () => (await Promise.all([okta, gatehouse, application, replica1].map(isUp))).every(Boolean),
    { what: 'the processes to listen' },
  )
  chromium = await openChromium(`--host-resolver-rules=MAP *.example.localhost:443 127.0.0.1:${https}`)
}

beforeAll(async () => {
  directory = makeDirectory()
  chmodSync(directory, 0o755)
  processes = []
  await start()
})
afterAll(async () => {
  await chromium?.close()
  await Promise.all(processes.map((one) => one.end()))
  removeDirectory(directory)
})

test('a new user gets an application on another host by the commands of the docs alone', async () => {
  const context = await chromium.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  await page.goto(`${WIKI}/?a=b`)
  expect(new URL(page.url()).origin).toBe(PORTAL)
  await page.getByLabel('Username').fill('amelia.stone')
  await page.getByLabel('Password', { exact: true }).fill('Demo-Password-1')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${WIKI}/?a=b`)
  const headers = JSON.parse((await page.locator('body').textContent()) ?? '') as Record<string, string>
  expect(headers['x-auth-request-preferred-username']).toBe('amelia.stone%40example.test')
  expect(headers).not.toHaveProperty('cookie')

  await page.goto(PORTAL)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Username').waitFor()
  await page.goto(WIKI)
  expect(new URL(page.url()).origin).toBe(PORTAL)
  await page.getByLabel('Username').waitFor()
})
