import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Shown } from './groups.ts'

interface Rendered {
  readonly body: Buffer
  readonly etag: string
}

/** Keeps bytes and ETag as long as the data: rendering costs more than the rest of the request. */
export function createLookupPresenter(): (req: Request, res: Response, shown: Shown) => void {
  const known = { fresh: new WeakMap<object, Rendered>(), stale: new WeakMap<object, Rendered>() }

  return function present(req, res, shown) {
    const rendered = known[shown.stale ? 'stale' : 'fresh']
    const { body, etag } = (shown.kept && rendered.get(shown.kept)) ?? render(shown)
    if (shown.kept !== undefined) rendered.set(shown.kept, { body, etag })

    res.setHeader('ETag', etag)
    res.setHeader('Age', String(Math.floor(shown.ageMs / 1000)))
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
 * Weak comparison (RFC 9110, section 13.1.2). Not Express's `req.fresh`, which regards the request's `no-cache`: each `fetch` that
 * sets If-None-Match itself sends that too, and it is meant for caches.
 */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = etag.slice(2)
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === opaque)
}

/** The ETag is over the data and whether they are stale, not over the times: an equal list that is read later has the same. */
function render({ data, stale, fetchedAtMs }: Shown): Rendered {
  const text = JSON.stringify(data())
  const hash = createHash('sha256').update(`${stale} ${text}`).digest('base64url').slice(0, 27)
  const meta = JSON.stringify({ fetchedAt: new Date(fetchedAtMs).toISOString(), stale })
  return { body: Buffer.from(`${text.slice(0, -1)},"meta":${meta}}`), etag: `W/"${hash}"` }
}
