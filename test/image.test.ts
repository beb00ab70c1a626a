import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

/** The container image, read as text: nothing here can build one. */
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const lines = (path: string) =>
  read(path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))

test('of the project the image is given a list of files: no source control, test, sandbox, demo or secret', () => {
  const [first, ...rest] = lines('.dockerignore')
  expect(first).toBe('*')
  const given = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  expect(given.sort()).toEqual(
    [
      ...['.npmrc', 'LICENSE', 'config/default.json', 'package-lock.json', 'package.json', 'src'],
      ...['tsconfig.build.json', 'tsconfig.json'],
    ].sort(),
  )
  expect(rest.slice(-2)).toEqual(['src/sandbox', 'src/demo'])
})

test('the last stage runs as nobody of note, in production, with production packages alone', () => {
  const last =
    read('Dockerfile')
      .split(/^FROM /m)
      .at(-1) ?? ''
  expect(last).toMatch(/^USER (?:node|[1-9]\d*:[1-9]\d*)$/m)
  expect(last).toMatch(/^ENV NODE_ENV=production$/m)
  expect(last).not.toMatch(/^(?:RUN|ADD|ARG) /m)
  expect(read('Dockerfile')).toMatch(/^RUN npm ci --omit=dev --ignore-scripts$/m)
})

test('the command asks Node for nothing that it does not know, and leaves its young generation room', () => {
  const command: unknown = JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.[1] ?? '')
  expect(command).toEqual(['node', '--enable-source-maps', '--max-semi-space-size=16', 'dist/main.js'])
  const flags = (command as string[]).slice(1, -1) // just compared
  const { status, stderr } = spawnSync(process.execPath, [...flags, '-e', ''], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
