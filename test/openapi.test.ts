import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { OPERATIONS, openApiDocument } from '../openapi/document.ts'
import { type AppOptions, publicRoutes } from '../src/app.ts'
import { STATUSES } from '../src/authn/sanitize/unknown-steps.ts'
import { FACTOR_TYPE_NAMES } from '../src/factor-types.ts'
import { type AppRoutesOptions, createAppRoutes } from '../src/pam/app-routes.ts'
import { createPamNotConfiguredRoutes, createPamRoutes, type PamRoutesOptions } from '../src/pam/routes.ts'
import { checkAnswer } from './support/api-contract.ts'
import { openBrowser } from './support/browser.ts'
import { navigate } from './support/navigate.ts'
import { startStubUpstream } from './support/stub-upstream.ts'

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
    const ofApps: unknown = {
      groups: parts,
      appTokens: [{ name: 'app', token: 'x' }],
      masterKeys: [Buffer.alloc(32)],
    }
    const appRoutes = createAppRoutes(ofApps as AppRoutesOptions)
    const routes = publicRoutes({
      ...(parts as AppOptions),
      authn: parts,
      navigation: parts,
      doctorProbes: parts,
      forwardAuth: parts,
      orgEvents: parts,
      pamRoutes,
      appRoutes,
    } as AppOptions)
    expect(Object.values(OPERATIONS).map(nameOf).sort()).toEqual(routes.map(nameOf).sort())
    expect(createPamNotConfiguredRoutes().map(nameOf)).toEqual(pamRoutes.map(nameOf))
  })

  test('has a schema for each status and each factor type', () => {
    const { KnownSignInAnswer, KnownFactor } = openApiDocument().components?.schemas ?? {}
    expect(Object.keys(mappingOf(KnownSignInAnswer)).sort()).toEqual([...STATUSES].sort())
    expect(Object.keys(mappingOf(KnownFactor)).sort()).toEqual([...FACTOR_TYPE_NAMES].sort())
  })

  // shows: V2.1.1
  test('is kept in docs/openapi.json; when this is red, run: npm run openapi', () => {
    expect(read('docs/openapi.json')).toEqual(inJson(openApiDocument()))
  })

  test('has an example (openapi/examples.json) of each body, JSON answer, error code and redirect; Redocly validates them', () => {
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

  test('is valid OpenAPI 3.1 and names the version of the package', async () => {
    const validator = new Validator()
    expect(await validator.validate(join(ROOT, 'docs/openapi.json'))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(openApiDocument().info.version).toBe((read('package.json') as { version: string }).version)
  })
})

describe('an answer that it does not allow is found', () => {
  const error = {
    errorCode: 'E0000007',
    errorSummary: 'x',
    errorLink: 'E0000007',
    errorId: 'x',
    errorCauses: [],
  }
  const answer = (status: number, body: unknown, contentType = 'application/json') => ({
    status,
    contentType,
    bytes: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
  })
  const ME = 'GET /api/v1/sessions/me'
  const AUTHN = 'POST /api/v1/authn'
  const check = (route: string, given: ReturnType<typeof answer>) => {
    const [method = '', path = ''] = route.split(' ')
    return () => checkAnswer(method, path, given)
  }

  test.each([
    ['a status', ME, answer(418, error), /not documented/],
    ['a path', 'GET /nowhere', answer(200, {}), /not listed/],
    ['a method', 'POST /api/v1/sessions/me', answer(200, {}), /not listed/],
    ['a code of another route', ME, answer(404, { ...error, errorCode: 'E0000004' }), /errorCode/],
    ['a member too much', ME, answer(404, { ...error, more: 1 }), /additional/],
    ['a member that is missing', ME, answer(200, {}), /required/],
    ['a content type', ME, answer(404, error, 'text/html'), /content type/],
    ['a body where there is none', 'DELETE /api/v1/sessions/me', answer(204, {}), /has a body/],
    ['a real state token', AUTHN, answer(200, { status: 'X', stateToken: 'real' }), /stateToken/],
    ['a recovery token', AUTHN, answer(200, { status: 'X', recoveryToken: 'real' }), /recoveryToken/],
    ['a page where JSON is due', 'GET /nowhere', answer(404, error, 'text/html'), /not JSON/],
  ])('%s', (_name, route, given, says) => {
    expect(check(route, given)).toThrow(says)
  })

  test('whatever the browsers of the journeys get is held against it', async () => {
    const stub = await startStubUpstream((_req, res) => res.writeHead(418).end())
    const browser = openBrowser(stub.origin)
    await expect(browser.get('/api/v1/sessions/me')).rejects.toThrow('the status is not documented')
    await expect(navigate(browser, `${stub.origin}/signin/step-up`)).rejects.toThrow('not documented')
    await stub.close()
  })
})
