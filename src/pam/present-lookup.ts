import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { LookupResult } from './groups.ts'

interface Rendered {
  readonly body: Buffer
  readonly etag: string
}

/** Caches bytes and ETag as long as the data exists: rendering costs more than the rest of the request. */
export function createLookupPresenter(): (req: Request, res: Response, result: LookupResult) => void {
  const caches = { fresh: new WeakMap<object, Rendered>(), stale: new WeakMap<object, Rendered>() }

  return function present(req, res, result) {
    const { cacheKey } = result
    const cache = caches[result.stale ? 'stale' : 'fresh']
    const { body, etag } = cache.get(cacheKey) ?? render(result)
    cache.set(cacheKey, { body, etag })

    res.setHeader('ETag', etag)
    res.setHeader('Age', String(Math.floor(result.ageMs / 1000)))
    if (matches(req.headers['if-none-match'], etag)) {
      res.status(304).end()
      return
    }
    res.setHeader('Content-Type', 'application/json; charset=utf-8')
    res.setHeader('Content-Length', body.length)
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/**
 * Weak comparison (RFC 9110, section 13.1.2). Express's `req.fresh` also respects the request's `no-cache`, which `fetch` adds to
 * every request that sets If-None-Match. It is meant for caches.
 */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = etag.slice(2)
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === opaque)
}

/** The ETag covers the data and whether it is stale, but not the times: the same list, read later, keeps its ETag. */
function render({ data, stale, fetchedAtMs }: LookupResult): Rendered {
  const text = JSON.stringify(data())
  const hash = createHash('sha256').update(`${stale} ${text}`).digest('base64url').slice(0, 27)
  const meta = JSON.stringify({ fetchedAt: new Date(fetchedAtMs).toISOString(), stale })
  return { body: Buffer.from(`${text.slice(0, -1)},"meta":${meta}}`), etag: `W/"${hash}"` }
}
