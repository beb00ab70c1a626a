import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { ServedList } from './lists/group-cache.ts'
import type { GroupList } from './lists/list-store.ts'

export interface LookupResult {
  readonly served: ServedList
  /** Identifies the data among those made from this list. */
  readonly name: string
  data(): Readonly<object>
}

type Rendered = ReturnType<typeof render>

/** Of one list. */
export const MAX_RENDERED = 100

/**
 * Caches bytes and ETag as long as the list exists: rendering costs more than the rest of the
 * request.
 */
export function createLookupPresenter(): (req: Request, res: Response, result: LookupResult) => void {
  const cache = new WeakMap<GroupList, Map<string, Rendered>>()

  function getRendered(result: LookupResult): Rendered {
    const { list, stale } = result.served
    const responses = cache.get(list) ?? new Map<string, Rendered>()
    cache.set(list, responses)
    const name = `${stale} ${result.name}`
    const known = responses.get(name)
    if (known !== undefined) return known
    if (responses.size >= MAX_RENDERED) responses.clear()
    const rendered = render(result)
    responses.set(name, rendered)
    return rendered
  }

  return function present(req, res, result) {
    const { body, etag } = getRendered(result)
    res.setHeader('ETag', etag)
    res.setHeader('Age', String(Math.floor(result.served.ageMs / 1000)))
    if (matches(req.headers['if-none-match'], etag)) return void res.status(304).end()
    res.setHeader('Content-Type', 'application/json; charset=utf-8')
    res.setHeader('Content-Length', body.length)
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/**
 * Weak comparison (RFC 9110, section 13.1.2). Express's `req.fresh` also respects the request's
 * `no-cache`, which `fetch` adds to every request that sets If-None-Match. It is meant for caches.
 */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = etag.slice(2)
  return ifNoneMatch
    .split(',')
    .some((etag) => etag.trim() === '*' || etag.trim().replace(/^W\//, '') === opaque)
}

/**
 * The ETag covers the data and whether it is stale, but not the times: the same list, read later,
 * keeps its ETag.
 */
function render({ data, served: { list, stale } }: LookupResult) {
  const text = JSON.stringify(data())
  const hash = createHash('sha256').update(`${stale} ${text}`).digest('base64url').slice(0, 27)
  const meta = JSON.stringify({ fetchedAt: new Date(list.beganAtMs).toISOString(), stale })
  return { body: Buffer.from(`${text.slice(0, -1)},"meta":${meta}}`), etag: `W/"${hash}"` }
}
