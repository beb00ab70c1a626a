import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'

/** The container image, read as text: nothing here can build one. */
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const lines = (path: string) =>
  read(path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))

// shows: V13.3.1, V13.4.1
test('the build context is a list of files without source control, tests, sandbox, demo and secrets', () => {
  const [first, ...rest] = lines('.dockerignore')
  expect(first).toBe('*')
  expect(rest.sort()).toEqual([
    '!.npmrc',
    '!LICENSE',
    '!config/default.json',
    '!docs/openapi.json',
    '!package-lock.json',
    '!package.json',
    '!src',
    '!tsconfig.build.json',
    '!tsconfig.json',
  ])
})

// shows: V13.4.2, V15.2.3
test('the last stage runs as an unprivileged user, in production, with production packages only', () => {
  const last =
    read('Dockerfile')
      .split(/^FROM /m)
      .at(-1) ?? ''
  expect(last).toMatch(/^USER (?:node|[1-9]\d*:[1-9]\d*)$/m)
  expect(last).toMatch(/^ENV NODE_ENV=production$/m)
  expect(last).not.toMatch(/^(?:RUN|ADD) /m)
  expect(last.match(/^ARG .*$/gm)).toEqual(['ARG GIT_REVISION=unknown'])
  expect(last).toMatch(/^ENV GIT_REVISION=\$GIT_REVISION$/m)
  expect(read('Dockerfile')).toMatch(/^RUN npm ci --omit=dev --ignore-scripts$/m)
})

test('the command has only flags that Node knows, and sets the size of the young generation and the number of V8 workers', () => {
  const command: unknown = JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.[1] ?? '')
  const sizes = ['--max-semi-space-size=16', '--v8-pool-size=1']
  expect(command).toEqual(['node', '--disable-sigusr1', '--enable-source-maps', ...sizes, 'dist/main.js'])
  // Node 20 does not have --disable-sigusr1; `npm run image:check` runs the command on the image's
  // own Node
  const flags = (command as string[])
    .slice(1, -1) // just compared
    .filter((flag) => flag !== '--disable-sigusr1' || process.allowedNodeEnvironmentFlags.has(flag))
  const { status, stderr } = spawnSync(process.execPath, [...flags, '-e', ''], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

test.each([
  ['nowhere else', '127.0.0.1', undefined],
  ['at an empty value, which counts as none', '127.0.0.1', ''],
  ['at an address of its own', '127.0.0.3', '127.0.0.3'],
  ['at a name', '127.0.0.1', 'localhost'],
  ['at all addresses', '0.0.0.0', '0.0.0.0'],
  ['at all addresses, new ones too', '::', '::'],
  ['at a new one', '::1', '::1'],
])('the health check requests /livez where the ops listener is: %s', async (_, listensAt, opsHost) => {
  const words: unknown = JSON.parse(
    /^HEALTHCHECK [^\n]*\\\n +CMD (\[.*\])$/m.exec(read('Dockerfile'))?.[1] ?? '',
  )
  const [file, ...args] = words as [string, ...string[]] // the exit codes show that it is
  const asked: string[] = []
  const server = createServer((req, res) => {
    asked.push(String(req.url))
    res.end()
  })
  server.listen(0, listensAt)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // of a TCP server that listens
  const run = async () => {
    const env = { OPS_PORT: String(port), ...(opsHost === undefined ? {} : { OPS_HOST: opsHost }) }
    const [code] = await once(spawn(file, args, { env, stdio: 'ignore' }), 'exit')
    return code as number
  }
  try {
    expect(await run()).toBe(0)
    expect(asked).toEqual(['/livez'])
  } finally {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  expect(await run()).toBe(1)
})
