import { setTimeout as delay } from 'node:timers/promises'
import { parseCookie } from 'cookie'
import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { ADDRESS_PROBLEMS, forwardedFor, getRequestContext, normalizeAddress } from './request-context.ts'
import { sendJson } from './send-json.ts'

/**
 * `--doctor` asks a running broker what arrives there of a request. Only a sender that has
 * `SECRET_KEYS` gets an answer: the header is a probe and its signature. The answer contains a
 * signature of the probe's nonce, so neither a cache nor another server can give it.
 *
 * A reader of a proxy's log can repeat a probe. So the answer is never a success, and
 * `/forward-auth` has none: a proxy that asks it with its client's headers admits the client on a
 * 200. The answer is a redirect, because proxies replace the pages of errors, and some add headers
 * to other answers only. It has no target, or with `RESPONSE_NONCE` one that never exists.
 */
export const PROBE_HEADER = 'x-gatehouse-doctor'

export const ProbeAnswer = z.object({
  /** Proves that the answer belongs to the probe. */
  proof: z.string(),
  /** The path that arrives, without its query. */
  path: z.string(),
  publicUrl: z.string(),
  /** For Okta, the limits and the logs. */
  address: z.union([z.ipv4(), z.ipv6()]),
  /**
   * The first entry of `X-Forwarded-For`, if there is one: the address of the client of the
   * outermost proxy.
   */
  firstForwarded: z.string().optional(),
  /** Why other requests that arrive like this one are refused. */
  addressProblem: z.enum(ADDRESS_PROBLEMS).optional(),
  origin: z.string().optional(),
  site: z.string().optional(),
  /** The headers of device-bound sessions that arrive. */
  boundSessionHeaders: z.array(z.string()).readonly().optional(),
  bodyBytes: z.number(),
  /**
   * As it arrives, without the question mark. Versions before 0.3.0 do not say this and the rest.
   */
  query: z.string().optional(),
  /** Of the connection on which the probe came. */
  httpVersion: z.string().optional(),
  /** Whether an earlier probe came on the same connection. */
  reused: z.boolean().optional(),
  /** What the broker finds in its Redis at the key of the probe. */
  store: z.enum(['shared', 'missing', 'failed']).optional(),
  /** Whether the proxy is in TRUST_PROXY. Versions before 0.3.0 do not say this. */
  isFromProxy: z.boolean().optional(),
  /** `X-Forwarded-Host` as it arrives, from whomever. */
  forwardedHost: z.string().optional(),
  /** The beginnings of `READ_HEADERS`, as they arrive. */
  headers: z.record(z.string(), z.string()).optional(),
  /** The names of the broker's own cookies that arrive. */
  cookies: z.array(z.string()).readonly().optional(),
  /** The length of `Cookie`. */
  cookieBytes: z.number().optional(),
  /** HMACs of what all replicas must agree on, by variable. */
  configuration: z.record(z.string(), z.string()).optional(),
})
export type ProbeAnswer = Readonly<z.infer<typeof ProbeAnswer>>

export const BOUND_SESSION_REQUEST_HEADERS = [
  'Secure-Session-Response',
  'Sec-Secure-Session-Id',
  'Secure-Session-Skipped',
] as const
export const BOUND_SESSION_RESPONSE_HEADERS = [
  'Secure-Session-Registration',
  'Secure-Session-Challenge',
] as const

/** Further headers of browsers that the broker reads. */
export const READ_HEADERS = [
  'Sec-Fetch-Mode',
  'Sec-Fetch-Dest',
  'User-Agent',
  'Accept-Language',
  'X-Gatehouse-Session',
  'X-Device-Fingerprint',
] as const
const MAX_VALUE = 100

export interface Probe {
  readonly nonce: string
  /** How long the broker waits before it answers. */
  readonly waitMs: number
}

interface ProbeSigner {
  sign(value: string): string
  signAll(value: string): readonly string[]
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export interface AnswerProbesOptions {
  readonly signer: ProbeSigner
  readonly now: () => number
  readonly publicUrl: string
  /** The value at the doctor's key with this nonce, in the Redis of the broker. */
  readonly readKey: (nonce: string) => Promise<string | undefined>
  /** What all replicas must agree on, by variable. */
  readonly configuration: Readonly<Record<string, string>>
}

/** For clocks that differ. */
const MAX_AGE_MS = 300_000

/** The value of the header. The nonce consists of letters, digits and hyphens. */
export function createProbe(
  { nonce, waitMs }: Probe,
  { signer, now }: Pick<AnswerProbesOptions, 'signer' | 'now'>,
): string {
  const probe = [now(), nonce, waitMs].join('.')
  return `${probe}.${signer.sign(probe)}`
}

export function isProofOf({ nonce }: Probe, proof: string, signer: ProbeSigner): boolean {
  return signer.verify(`answer.${nonce}`, proof) !== 'wrong'
}

/**
 * The nonce of a probe that asks whether the broker and the doctor have the same Redis: before it,
 * the doctor has written `storedValue` there. Such a probe, and no other request, costs a read.
 */
export const STORE_NONCE = 'store-'

/**
 * The nonce of a probe that is answered with 503, because some proxies replace such answers only.
 * Metrics do not count it as a failure.
 */
export const ERROR_NONCE = 'error-'

/** The nonce of a probe that asks for `configuration`. */
export const CONFIGURATION_NONCE = 'config-'

/**
 * The nonce of a probe whose answer has what the answers of a sign-in have: a long redirect
 * elsewhere, and two cookies. The host never exists (RFC 2606).
 */
export const RESPONSE_NONCE = 'response-'
export const RESPONSE_LOCATION = `https://doctor.invalid/app?fromURI=%2Fdoctor&padding=${'x'.repeat(6000)}`
export const RESPONSE_COOKIES = ['gatehouse-doctor-1', 'gatehouse-doctor-2'] as const

/**
 * The HMACs of a value with each key, the first key's first. Whoever has no key learns only whether
 * two replicas agree.
 */
export function configurationTags(name: string, value: string, signer: Pick<ProbeSigner, 'signAll'>) {
  return signer.signAll(`configuration.${name}.${value}`).map((tag) => tag.slice(0, 8))
}

/** Shows nothing to a reader of Redis, and nobody else can write it. */
export function storedValue(nonce: string, signer: ProbeSigner): string {
  return signer.sign(`stored.${nonce}`)
}

/** Middleware for requests of every path with the header. */
export function answerProbes(options: AnswerProbesOptions): RequestHandler {
  const connections = new WeakSet<object>()
  return function answerProbes(req, res, next) {
    if (!(PROBE_HEADER in req.headers)) return next()
    const probe = readProbe(String(req.headers[PROBE_HEADER]), options)
    if (probe === undefined) return next()
    const reused = connections.has(req.socket)
    connections.add(req.socket)
    return answer(probe, { ...options, reused }, req, res)
  }
}

async function answer(
  { nonce, waitMs }: Probe,
  options: AnswerProbesOptions & { readonly reused: boolean },
  req: Request,
  res: Response,
): Promise<void> {
  const { signer, publicUrl, readKey, reused } = options
  let bodyBytes = 0
  for await (const chunk of req) bodyBytes += Buffer.byteLength(chunk)
  await delay(waitMs)
  const context = getRequestContext(req)
  const { address, addressProblem, isFromProxy } = context
  const [first] = forwardedFor(req)
  const answer: ProbeAnswer = {
    proof: signer.sign(`answer.${nonce}`),
    path: req.path,
    publicUrl,
    address,
    addressProblem,
    firstForwarded: first === undefined ? undefined : (normalizeAddress(first) ?? 'malformed'),
    origin: req.headers.origin,
    site: req.get('sec-fetch-site'),
    boundSessionHeaders: BOUND_SESSION_REQUEST_HEADERS.filter((name) => req.get(name) !== undefined),
    bodyBytes,
    query: req.originalUrl.split(/\?(.*)/s)[1] ?? '',
    httpVersion: req.httpVersion,
    reused,
    isFromProxy,
    forwardedHost: req.get('x-forwarded-host'),
    store: nonce.startsWith(STORE_NONCE) ? await judgeStore(nonce, signer, readKey) : undefined,
    headers: readHeaders(req),
    cookies: cookieNamesOf(req),
    cookieBytes: Buffer.byteLength(req.headers.cookie ?? ''),
    configuration: nonce.startsWith(CONFIGURATION_NONCE) ? tagsOf(options) : undefined,
  }
  // of no use to a browser: they have no challenge
  for (const name of BOUND_SESSION_RESPONSE_HEADERS) res.setHeader(name, 'doctor')
  if (nonce.startsWith(RESPONSE_NONCE)) {
    res.setHeader('Location', RESPONSE_LOCATION)
    res.setHeader(
      'Set-Cookie',
      RESPONSE_COOKIES.map((name) => `${name}=doctor; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`),
    )
  }
  const isError = nonce.startsWith(ERROR_NONCE)
  if (isError) res.setHeader('Retry-After', '1')
  context.isErrorOfClient = isError
  sendJson(res.status(isError ? 503 : 302), answer)
}

function readHeaders(req: Request): Record<string, string> {
  const arrived = READ_HEADERS.map((name) => [name, req.get(name)?.slice(0, MAX_VALUE)] as const)
  return Object.fromEntries(
    arrived.filter((entry): entry is [(typeof entry)[0], string] => entry[1] !== undefined),
  )
}

/** As the broker's own parser reads them. */
function cookieNamesOf({ headers }: Request): string[] {
  const names = Object.keys(parseCookie(headers.cookie ?? ''))
  return names.filter((name) => /^(?:__Host-)?(?:Http-)?gatehouse/.test(name))
}

function tagsOf({ configuration, signer }: AnswerProbesOptions): Record<string, string> {
  return Object.fromEntries(
    Object.entries(configuration).map(([name, value]) => [
      name,
      configurationTags(name, value, signer)[0] ?? '',
    ]),
  )
}

async function judgeStore(
  nonce: string,
  signer: ProbeSigner,
  readKey: AnswerProbesOptions['readKey'],
): Promise<'shared' | 'missing' | 'failed'> {
  try {
    const value = await readKey(nonce)
    return value !== undefined && signer.verify(`stored.${nonce}`, value) !== 'wrong' ? 'shared' : 'missing'
  } catch {
    return 'failed' // the answer shows it, and the store has logged it
  }
}

function readProbe(header: string, { signer, now }: AnswerProbesOptions): Probe | undefined {
  const [, probe = '', sentAt, nonce = '', waitMs, signature = ''] =
    /^((\d{1,15})\.([\w-]{1,36})\.(\d{1,5}))\.([\w-]{43})$/.exec(header) ?? []
  const isRecent = Math.abs(now() - Number(sentAt)) <= MAX_AGE_MS
  if (!isRecent || signer.verify(probe, signature) === 'wrong') return undefined
  return { nonce, waitMs: Number(waitMs) }
}
