import { describe, expect, test } from '@jest/globals'
import { type RewriteOptions, rewriteAnswer } from '../../../src/authn/sanitize/links.ts'
import { normalizePath } from '../../../src/authn/transaction/link-paths.ts'
import { findStep, mergeSteps } from '../../../src/authn/transaction/transaction.ts'

const UPSTREAM = 'https://org.example.com'
const ALIAS = 'https://login.example.com'
const PUBLIC = 'https://portal.example.net'
const HANDLE = `00${'h'.repeat(43)}`
const TOKEN = '00stateTokenOfTheUpstream_abcdefghijklmnop'
const OPTIONS: RewriteOptions = {
  upstreamOrigins: [UPSTREAM, ALIAS],
  publicOrigin: PUBLIC,
  handle: HANDLE,
  knownTokens: [TOKEN],
  pictureHandle: (path) => `picture-handle-${path.length}`,
}
const rewrite = (answer: Record<string, unknown>, options: Partial<RewriteOptions> = {}) =>
  rewriteAnswer(answer, { ...OPTIONS, ...options })
const hrefOf = (href: string, options: Partial<RewriteOptions> = {}) => {
  const { body, ...rest } = rewrite({ _links: { next: { href } } }, options)
  // the shape that was just created
  return { href: (body._links as { next: { href: string } }).next.href, ...rest }
}
const VERIFY = '/api/v1/authn/factors/ost1/verify'

describe('tokens never reach the browser', () => {
  test('every text of 16 characters or more in a token member is a token, at any depth, also in its links', () => {
    const text = (name: string) => `${name}-of-16-or-more-characters`
    const { tokens, body } = rewrite(
      {
        stateToken: text('one'),
        other: text('no'),
        list: [
          { SESSIONTOKEN: [text('two'), { any: text('three'), more: [[text('four')], 5, null, true] }] },
        ],
        recoveryToken: { stateToken: text('five'), href: `${UPSTREAM}/x?token=${text('six')}` },
        _embedded: { recoveryToken: null, note: { text: text('no') } },
        error: { stateToken: 7, sessionToken: text('seven') },
      },
      { knownTokens: [] },
    )
    expect(new Set(tokens)).toEqual(
      new Set([
        ...['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map(text),
        `${UPSTREAM}/x?token=${text('six')}`,
      ]),
    )
    expect(body).toEqual({
      stateToken: HANDLE,
      other: text('no'),
      list: [{}],
      _embedded: { note: { text: text('no') } },
      error: {},
    })
  })

  test('without a handle, the state token is removed like other tokens, also from queries of public routes', () => {
    const { body } = rewrite(
      { stateToken: TOKEN, _links: { next: { href: `${UPSTREAM}${VERIFY}?stateToken=${TOKEN}` } } },
      { handle: undefined },
    )
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({ _links: { next: { href: `${PUBLIC}${VERIFY}?stateToken=` } } }),
    )
    expect(Object.keys(body)).toEqual(['_links'])
  })

  test('a token that is only in a query is removed too', () => {
    const unknown = '00tokenThatOnlyALinkNames_abcdefgh'
    const { href, tokens } = hrefOf(`${UPSTREAM}/login/step-up/redirect?stateToken=${unknown}`, {
      knownTokens: [],
    })
    expect(href).toBe(`${PUBLIC}/login/step-up/redirect?stateToken=${HANDLE}`)
    expect(tokens).toEqual([unknown])
  })

  // shows: F-1.14
  test('a token parameter of a public route is removed by its name, even if its value is short', () => {
    const path = '/login/step-up/redirect?a=b&STATETOKEN=short&sessionToken=x#/?stateToken=y'
    expect(hrefOf(UPSTREAM + path)).toMatchObject({
      href: `${PUBLIC}/login/step-up/redirect?a=b&STATETOKEN=${HANDLE}&sessionToken=#/?stateToken=${HANDLE}`,
      offered: [{ href: UPSTREAM + path }],
    })
  })

  // shows: F-1.13
  test('a short token is removed from a page of the org and counted; parameters of other hosts stay', () => {
    const page = hrefOf(`${UPSTREAM}/login/other?a=b&stateToken=short`)
    expect([page.href, page.tokensInLinks]).toEqual([`${UPSTREAM}/login/other?a=b&stateToken=`, 1])
    const third = hrefOf('https://third.example/?stateToken=short')
    expect([third.href, third.tokensInLinks]).toEqual(['https://third.example/?stateToken=short', 0])
  })

  // shows: V14.2.3
  test('a token in other links is removed and counted', () => {
    const third = hrefOf(`https://third.example/x?state=${TOKEN}&y=1`)
    expect([third.href, third.tokensInLinks, third.offered]).toEqual([
      'https://third.example/x?state=&y=1',
      1,
      [],
    ])
    const page = hrefOf(`${UPSTREAM}/login/other?token=${TOKEN}#${TOKEN}`)
    expect([page.href, page.tokensInLinks]).toEqual([`${UPSTREAM}/login/other?token=#`, 1])
  })
})

describe('links to the API lead to PUBLIC_URL', () => {
  // shows: F-4.5
  test.each<[string, string]>([
    ['a plain link', `${UPSTREAM}${VERIFY}`],
    ['a relative link', VERIFY],
    ['dots in its path', `${UPSTREAM}/a/..${VERIFY}`],
    ['encoded dots in its path', `${UPSTREAM}/a/%2e%2e${VERIFY}`],
    ['white space around it', `  ${UPSTREAM}${VERIFY}\n`],
  ])('%s', (_name, href) => {
    const result = hrefOf(href)
    expect(result.href).toBe(`${PUBLIC}${VERIFY}`)
    expect(result.offered).toEqual([{ path: VERIFY, query: '', methods: [] }])
    expect(result.tokensInLinks).toBe(0)
  })

  test.each<[string, string]>([
    ['not a URL', 'https://['],
    ['nothing', ''],
    ['a page', `${UPSTREAM}/login/login.htm?fromURI=%2Fapi%2Fv1%2F`],
    ['a path that leaves the API', `${UPSTREAM}/api/v1/../../admin`],
    ['a page of another site over http', '  http://third.example/x'],
    ['a longer identity provider path', `${UPSTREAM}/sso/idps/0oa1/more`],
    ['a longer redirect', `${UPSTREAM}/login/step-up/redirect/more`],
    ['another longer redirect', `${UPSTREAM}/login/token/redirect/more`],
    ['a redirect in a folder', `${UPSTREAM}/app/login/step-up/redirect`],
    ['another redirect in a folder', `${UPSTREAM}/app/login/token/redirect`],
    ['an identity provider in a folder', `${UPSTREAM}/app/sso/idps/0oa1`],
  ])('%s is unchanged, and is not a step', (_name, href) => {
    expect(hrefOf(href)).toMatchObject({ href, offered: [], tokensInLinks: 0 })
  })

  test.each([
    '/api/v1/authn/factors/token:software:totp/verify',
    '/api/v1/authn/factors/token%3Asoftware%3Atotp/verify',
    '/api/v1/authn/factors/token%3asoftware:totp/verify',
  ])('%s keeps its spelling, and is found in any spelling', (path) => {
    const { href, offered } = hrefOf(UPSTREAM + path)
    expect(href).toBe(PUBLIC + path)
    expect(findStep(offered, 'POST', normalizePath(path))).toBeDefined()
    expect(normalizePath(path)).toBe('/api/v1/authn/factors/token%3Asoftware%3Atotp/verify')
  })

  test.each([
    ['/:/', '/%3A/'],
    ['/a%2Fb/%7E~', '/a%2Fb/~~'],
    ['/100%/a:b', '/100%/a%3Ab'],
  ])('%s is compared as %s', (path, wanted) => {
    expect(normalizePath(path)).toBe(wanted)
  })

  // shows: F-1.8, F-1.10, F-1.11, F-1.12
  test('at any depth, also in arrays of links, with or without hints', () => {
    const link = (path: string, allow?: unknown) => ({
      href: UPSTREAM + path,
      ...(allow === undefined ? {} : { hints: { allow } }),
    })
    const { body, offered } = rewrite({
      _links: { resend: [link('/api/v1/a', ['post']), link('/api/v1/b', [])] },
      _embedded: { factors: [{ _links: { verify: link('/api/v1/c', ['GET', 'POST']) } }] },
      href: `${UPSTREAM}/api/v1/d`,
    })
    expect(JSON.stringify(body).split(PUBLIC)).toHaveLength(5)
    expect(offered.map(({ methods }) => methods)).toEqual([['POST'], [], ['GET', 'POST'], []])
  })

  test('the names in every _links are told, and no other names', () => {
    const link = { href: UPSTREAM + VERIFY }
    const { linkNames } = rewrite({
      _links: { next: link, resend: [link] },
      _embedded: {
        factors: [{ _links: { verify: link }, profile: { phone: link } }],
        policy: { _links: 'x' },
      },
    })
    expect([...linkNames].toSorted()).toEqual(['next', 'resend', 'verify'])
  })

  test('malformed hints are ignored', () => {
    const malformed = ['POST', [17, null], { 0: 'POST' }].map((allow) => ({ allow }))
    for (const hints of [null, 'POST', [], ...malformed]) {
      const { offered } = rewrite({ _links: { next: { href: UPSTREAM + VERIFY, hints } } })
      expect(offered).toEqual([{ path: VERIFY, query: '', methods: [] }])
    }
  })

  test('only an href is a link: other texts are not searched for new tokens', () => {
    const link = `${UPSTREAM}/x?token=an-ordinary-long-word`
    for (const answer of [{ note: link }, { href: [link] }, { href: { note: link } }]) {
      const rewritten = rewrite({ ...answer, text: 'an-ordinary-long-word' })
      expect(rewritten).toMatchObject({ body: { text: 'an-ordinary-long-word' }, tokens: [TOKEN] })
    }
  })

  test.each([
    '/api/v1/x/api/v1/users/00u1/factors/ost1/qr/last-segment',
    '/api/v1/users/00u1/factors/ost1/qr/last/segment',
    '/api/v1/users/00u1/x/factors/ost1/qr/last-segment',
  ])('%s is not a picture: its path stays, and no part of it is a token', (path) => {
    expect(hrefOf(UPSTREAM + path)).toMatchObject({ href: PUBLIC + path, tokens: [TOKEN] })
  })

  test('the token in the path of an enrollment picture is replaced with a handle, and removed elsewhere', () => {
    const folder = '/api/v1/users/00u1/factors/ost1/qr/'
    const { href, offered, tokens } = hrefOf(`${UPSTREAM}${folder}20pictureTokenOfTheUpstream`)
    expect(href).toBe(`${PUBLIC}${folder}picture-handle-${folder.length + 27}`)
    expect(offered).toEqual([{ path: `${folder}20pictureTokenOfTheUpstream`, query: '', methods: [] }])
    expect(tokens).toContain('20pictureTokenOfTheUpstream')
  })
})

test('a link that is neither http nor https is dropped, at any depth', () => {
  const dangerous = ['javascript:alert(1)', ' JaVa\tScript:alert(1)', 'data:text/html,x']
  const bad = [...dangerous, 'xhttp:x', 'https1:x', 'file:///etc/passwd']
  const good = { href: UPSTREAM + VERIFY }
  const { body } = rewrite({
    _links: { next: { href: bad[0] }, cancel: good, resend: bad.map((href) => ({ href, name: 'sms' })) },
    deep: [{ list: [{ _links: { logo: { href: bad[1] }, self: good }, text: bad[0] }, { href: bad[2] }] }],
  })
  const moved = { href: PUBLIC + VERIFY }
  expect(body).toEqual({
    _links: { cancel: moved, resend: [] },
    deep: [{ list: [{ _links: { self: moved }, text: bad[0] }] }],
  })
  expect(rewrite({ href: bad[0], other: 1 }).body).toEqual({ other: 1 })
})

test('a picture in a data: link stays; other data, also disguised as a picture, does not', () => {
  const pictures = ['png', 'jpeg', 'gif', 'webp'].map((type) => `data:image/${type};base64,iVBORw0KGgo=`)
  const others = [
    'data:image/svg+xml,<svg/onload=alert(1)>',
    'data:text/html;image/png,<script>',
    'javascript:image/png,alert(1)',
    'data:image/png',
    'data:,image/png,x',
    'data:image/pngx;base64,AA',
    'data:image/html,x',
    ' data:text/html,x',
  ]
  const links = [...pictures, ' DATA:image/PNG;base64,AA', ...others].map((href) => ({ href }))
  expect(rewrite({ links }).body).toEqual({
    links: [...pictures, ' DATA:image/PNG;base64,AA'].map((href) => ({ href })),
  })
})

describe('offered steps', () => {
  const step = (path: string, methods: string[] = [], query = '') => ({ path, query, methods })

  test('a step with another path or method, or with a similar path, is not offered', () => {
    const offered = [step(VERIFY, ['POST'])]
    expect(findStep(offered, 'POST', VERIFY)).toEqual(offered[0])
    for (const [method, path] of [
      ['GET', VERIFY],
      ['POST', `${VERIFY}/`],
      ['POST', VERIFY.toUpperCase()],
      ['POST', '/api/v1/authn/factors/ost2/verify'],
      ['POST', '/api/v1/authn/x/../factors/ost1/verify'],
      ['post', VERIFY],
      ['POST', ''],
    ] as const) {
      expect(findStep(offered, method, path)).toBeUndefined()
    }
    expect(findStep([], 'POST', VERIFY)).toBeUndefined()
  })

  // shows: F-1.12
  test('a step without hints is offered for every method', () => {
    expect(findStep([step(VERIFY)], 'GET', VERIFY)).toBeDefined()
    expect(findStep([step(VERIFY)], 'POST', VERIFY)).toBeDefined()
  })

  test('the newest entry of a path is found, with its query', () => {
    const offered = mergeSteps([step('/r', [], '?stateToken=1')], [step('/r', [], '?stateToken=2')])
    expect(findStep(offered, 'GET', '/r')?.query).toBe('?stateToken=2')
  })

  test('a path that is offered again has one entry, with the methods of all', () => {
    expect(mergeSteps([step('/a', ['GET'])], [step('/b', ['POST']), step('/a', ['POST'])])).toEqual([
      step('/b', ['POST']),
      step('/a', ['GET', 'POST']),
    ])
    expect(mergeSteps([step('/a', ['GET'])], [step('/a')])).toEqual([step('/a')])
    expect(mergeSteps([step('/a')], [step('/a', ['GET'])])).toEqual([step('/a')])
  })

  test('a redirect leads to the newest link, and only for GET', () => {
    const path = '/login/step-up/redirect'
    const link = (n: number, methods: string[]) => ({
      ...step(path, methods),
      href: `${UPSTREAM}${path}?n=${n}`,
    })
    const offered = mergeSteps([link(1, ['GET'])], [link(2, ['GET'])])
    expect(findStep(offered, 'GET', path)?.href).toBe(`${UPSTREAM}${path}?n=2`)
    expect(findStep([link(1, ['POST'])], 'GET', path)?.href).toBeUndefined()
    expect(findStep([step(path, ['GET'])], 'GET', path)?.href).toBeUndefined()
    expect(findStep([], 'GET', path)?.href).toBeUndefined()
  })
})
