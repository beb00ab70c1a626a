import type { IncomingMessage, ServerResponse } from 'node:http'

declare module 'node:http' {
  interface IncomingMessage {
    /** The response ends the connection if nothing reads the body. */
    closesUnread?: boolean
  }
}

/** Whether a body follows the headers (RFC 9112, section 6.3). */
export function announcesBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/**
 * A body that nothing reads may never arrive: some proxies ask `/forward-auth` with all headers of
 * the application's own request, but without its body. The next request on the connection would be
 * taken for it. So the response ends the connection, unless `keepConnection` is called before.
 */
export function closeUnlessRead(req: IncomingMessage, res: ServerResponse): void {
  if (!announcesBody(req) || !res.shouldKeepAlive) return
  // unlike a header, this can be undone: Node then sends its own headers
  res.shouldKeepAlive = false
  req.closesUnread = true
}

/** For whoever reads the body. */
export function keepConnection(req: IncomingMessage, res: ServerResponse): void {
  if (req.closesUnread === true) res.shouldKeepAlive = true
}
