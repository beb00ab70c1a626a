import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type AppOptions, publicRoutes } from '../src/app.ts'
import { createDeviceRoutes, type DeviceRoutesOptions } from '../src/authn/devices/device-routes.ts'
import { STATUSES } from '../src/authn/sanitize/unknown-steps.ts'
import { FACTOR_TYPE_NAMES } from '../src/factor-types.ts'
import { isErrorCode } from '../src/http/error-object.ts'
import { createHealth } from '../src/observability/health.ts'
import { createMetrics } from '../src/observability/metrics.ts'
import { OPERATIONS, openApiDocument } from '../src/openapi/document.ts'
import { createOps } from '../src/ops.ts'
import { createPamNotConfiguredRoutes, createPamRoutes, type PamRoutesOptions } from '../src/pam/routes.ts'
import { PAM_ERROR_POLICIES } from '../src/pam/upstream/pam-errors.ts'
import { listenFor } from './http/serve.ts'
import { collectLog } from './observability/collect-log.ts'
import { checkAnswer } from './support/api-contract.ts'
import { openBrowser } from './support/browser.ts'
import { navigate } from './support/navigate.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const inJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

interface Described {
  readonly operationId: string
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

interface Response {
  readonly $ref?: string
  readonly description: string
  readonly content?: Content
  readonly headers?: { readonly Location?: object }
}

/** The name of the component that a reference leads to. */
const nameIn = ({ $ref = '' }: Response) => $ref.slice('#/components/responses/'.length)

type Content = Readonly<Record<string, { readonly examples?: object }>>

function mappingOf(schema: unknown): object {
  const { discriminator } = schema as { discriminator: { mapping: object } }
  return discriminator.mapping
}

/** Stands for every live part: routes are data, and none of them is asked here. */
const parts: unknown = new Proxy({}, { get: () => parts })
const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

describe('the document', () => {
  test('describes every route there is, each once, and no other', () => {
    const pamRoutes = createPamRoutes(parts as PamRoutesOptions)
    const deviceRoutes = createDeviceRoutes(parts as DeviceRoutesOptions)
    const routes = publicRoutes({
      ...(parts as AppOptions),
      authn: Object.assign(Object.create(parts as object), { deviceRoutes }),
      navigation: parts,
      doctorProbes: parts,
      pamRoutes,
    } as AppOptions)
    expect(Object.values(OPERATIONS).map(nameOf).sort()).toEqual(routes.map(nameOf).sort())
    expect(createPamNotConfiguredRoutes().map(nameOf)).toEqual(pamRoutes.map(nameOf))
  })

  test('describes every parameter of a path', () => {
    for (const { path, params } of Object.values(OPERATIONS)) {
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
      expect([path, Object.keys(params?.shape ?? {}).sort()]).toEqual([path, names.sort()])
    }
  })

  test('knows every code of the access service', () => {
    for (const { code } of Object.values(PAM_ERROR_POLICIES))
      expect([code, isErrorCode(code)]).toEqual([code, true])
  })

  test('has a schema for each status and each factor type', () => {
    const { KnownSignInAnswer, KnownFactor } = openApiDocument().components?.schemas ?? {}
    expect(Object.keys(mappingOf(KnownSignInAnswer)).sort()).toEqual([...STATUSES].sort())
    expect(Object.keys(mappingOf(KnownFactor)).sort()).toEqual([...FACTOR_TYPE_NAMES].sort())
  })

  test('is kept in docs/openapi.json; when this is red, run: npm run openapi', () => {
    expect(read('docs/openapi.json')).toEqual(inJson(openApiDocument()))
  })

  test('has an example of each body, JSON answer, error code and redirect; Redocly validates them', () => {
    const api = inJson(openApiDocument()) as {
      paths: object
      components: { responses: Record<string, Response> }
    }
    for (const item of Object.values(api.paths))
      for (const { operationId, requestBody, responses } of Object.values(item) as Described[]) {
        for (const { examples = {} } of Object.values(requestBody?.content ?? {}))
          expect([operationId, Object.keys(examples)]).not.toEqual([operationId, []])
        for (const [status, response] of Object.entries(responses)) {
          const { description, content, headers } = api.components.responses[nameIn(response)] ?? response
          const codes = [...description.matchAll(/^`(\w+)`: /gm)].map(([, code]) => `${status}-${code}`)
          const { examples = { none: 0 } } = content?.['application/json'] ?? {}
          const names = content?.['application/json'] && Object.keys(examples)
          if (names) expect([operationId, names]).toEqual([operationId, expect.arrayContaining(codes)])
          expect([operationId, status, names]).not.toEqual([operationId, status, ['none']])
          if (headers?.Location) expect([operationId, headers]).toHaveProperty('1.Location.example')
        }
      }
  })

  test('is the same however often it is made', () => {
    expect(openApiDocument()).toEqual(openApiDocument())
  })

  test('is valid OpenAPI 3.1 and names the version of the package', async () => {
    const validator = new Validator()
    expect(await validator.validate(join(ROOT, 'docs/openapi.json'))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(openApiDocument().info.version).toBe((read('package.json') as { version: string }).version)
  })
})

test('the operations listener serves it', async () => {
  const listener = await listenFor(
    createOps({
      health: createHealth([], collectLog().log),
      metrics: createMetrics({ processMetrics: false }),
      sessions: {
        list: async () => [],
        formatTimes: () => ({ createdAt: '', lastSeenAt: '', expiresAt: '', idleExpiresAt: '' }),
      },
      endAllSessions: async () => 0,
      limits: { end: async () => {}, hashLogin: () => '' },
      opsToken: () => undefined,
      log: collectLog().log,
    }),
  )
  const answer = await listener.ask({ path: '/openapi.json' })
  await listener.close()
  expect([answer.status, answer.headers['content-type'], answer.json]).toEqual([
    200,
    'application/json; charset=utf-8',
    inJson(openApiDocument()),
  ])
})

describe('an answer that it does not allow is found', () => {
  const error = {
    errorCode: 'E0000007',
    errorSummary: 'x',
    errorLink: 'E0000007',
    errorId: 'x',
    errorCauses: [],
  }
  const answer = (status: number, body: unknown, contentType: string | undefined = 'application/json') => ({
    status,
    contentType,
    bytes: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
  })
  const ME = '/api/v1/sessions/me'
  const HANDLE = `00${'a'.repeat(43)}`

  test.each<[string, string, string, ReturnType<typeof answer>]>([
    ['an error of the route', 'GET', ME, answer(404, error)],
    ['a path that is not there', 'GET', '/nowhere', answer(404, error)],
    ['a method that is not there', 'POST', ME, answer(405, { ...error, errorCode: 'E0000022' })],
    ['no body', 'DELETE', ME, answer(204, undefined)],
    ['a page', 'GET', '/sso/idps/1', answer(401, 'x', 'text/html; charset=utf-8')],
    [
      'a sign-in with more in it',
      'POST',
      '/api/v1/authn',
      answer(200, { status: 'NEW', stateToken: HANDLE, x: 1 }),
    ],
    ['a longer path before a template', 'GET', '/api/v1/users/1/factors/questions', answer(200, [])],
  ])('%s is allowed', (_name, method, path, given) => {
    expect(() => checkAnswer(method, path, given)).not.toThrow()
  })

  test.each<[string, string, string, ReturnType<typeof answer>, RegExp]>([
    ['a status', 'GET', ME, answer(418, error), /not documented/],
    ['a path', 'GET', '/nowhere', answer(200, {}), /not listed/],
    ['a method', 'POST', ME, answer(200, {}), /not listed/],
    ['a code of another route', 'GET', ME, answer(404, { ...error, errorCode: 'E0000004' }), /errorCode/],
    ['a member too much', 'GET', ME, answer(404, { ...error, more: 1 }), /additional/],
    ['a member that is missing', 'GET', ME, answer(200, {}), /required/],
    ['a content type', 'GET', ME, answer(404, error, 'text/html'), /content type/],
    ['a body where there is none', 'DELETE', ME, answer(204, {}), /has a body/],
    [
      'a state token that is no handle',
      'POST',
      '/api/v1/authn',
      answer(200, { status: 'X', stateToken: 'real' }),
      /stateToken/,
    ],
    [
      'a recovery token',
      'POST',
      '/api/v1/authn',
      answer(200, { status: 'X', recoveryToken: 'real' }),
      /recoveryToken/,
    ],
    ['a page where JSON is due', 'GET', '/nowhere', answer(404, error, 'text/html'), /not JSON/],
  ])('%s', (_name, method, path, given, says) => {
    expect(() => checkAnswer(method, path, given)).toThrow(says)
  })

  test('whatever the browsers of the journeys get is held against it', async () => {
    const server = createServer((_req, res) => res.writeHead(418).end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const browser = openBrowser(origin)
    try {
      await expect(browser.get(ME)).rejects.toThrow('the status is not documented')
      await expect(navigate(browser, `${origin}/signin/step-up`)).rejects.toThrow('not documented')
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
