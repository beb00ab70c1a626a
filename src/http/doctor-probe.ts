import { setTimeout as delay } from 'node:timers/promises'
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
 * 200. The answer is a redirect without a target, because proxies replace the pages of errors, and
 * some add headers to other answers only.
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
  bodyBytes: z.number(),
})
export type ProbeAnswer = Readonly<z.infer<typeof ProbeAnswer>>

export interface Probe {
  readonly nonce: string
  /** How long the broker waits before it answers. */
  readonly waitMs: number
}

interface ProbeSigner {
  sign(value: string): string
  verify(value: string, signature: string): 'current' | 'retired' | 'wrong'
}

export interface AnswerProbesOptions {
  readonly signer: ProbeSigner
  readonly now: () => number
  readonly publicUrl: string
}

/** For clocks that differ. */
const MAX_AGE_MS = 300_000

/** The value of the header. The nonce consists of letters, digits and hyphens. */
export function createProbe(
  { nonce, waitMs }: Probe,
  { signer, now }: Omit<AnswerProbesOptions, 'publicUrl'>,
): string {
  const probe = [now(), nonce, waitMs].join('.')
  return `${probe}.${signer.sign(probe)}`
}

export function isProofOf({ nonce }: Probe, proof: string, signer: ProbeSigner): boolean {
  return signer.verify(`answer.${nonce}`, proof) !== 'wrong'
}

/** Middleware for requests of every path with the header. */
export function answerProbes(options: AnswerProbesOptions): RequestHandler {
  return function answerProbes(req, res, next) {
    if (!(PROBE_HEADER in req.headers)) return next()
    const probe = readProbe(String(req.headers[PROBE_HEADER]), options)
    return probe === undefined ? next() : answer(probe, options, req, res)
  }
}

async function answer(
  { nonce, waitMs }: Probe,
  { signer, publicUrl }: AnswerProbesOptions,
  req: Request,
  res: Response,
): Promise<void> {
  let bodyBytes = 0
  for await (const chunk of req) bodyBytes += Buffer.byteLength(chunk)
  await delay(waitMs)
  const { address, addressProblem } = getRequestContext(req)
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
    bodyBytes,
  }
  sendJson(res.status(302), answer)
}

function readProbe(header: string, { signer, now }: AnswerProbesOptions): Probe | undefined {
  const [, probe = '', sentAt, nonce = '', waitMs, signature = ''] =
    /^((\d{1,15})\.([\w-]{1,36})\.(\d{1,5}))\.([\w-]{43})$/.exec(header) ?? []
  const isRecent = Math.abs(now() - Number(sentAt)) <= MAX_AGE_MS
  if (!isRecent || signer.verify(probe, signature) === 'wrong') return undefined
  return { nonce, waitMs: Number(waitMs) }
}
