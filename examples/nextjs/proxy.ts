import { type NextRequest, NextResponse } from 'next/server'

const { GATEHOUSE_URL = 'http://127.0.0.1:8080', PORTAL_URL = 'http://localhost:3000' } = process.env
const IDENTITY = ['x-auth-request-user', 'x-auth-request-preferred-username', 'x-auth-request-session']

export const config = { matcher: '/app/:path*' }

export async function proxy(request: NextRequest) {
  const sent = request.headers
  const answer = await fetch(`${GATEHOUSE_URL}/forward-auth`, {
    headers: { cookie: sent.get('cookie') ?? '', 'x-forwarded-for': sent.get('x-forwarded-for') ?? '' },
    signal: AbortSignal.timeout(5000),
  }).catch(() => undefined)
  if (answer?.status === 401) return signIn(request)
  if (answer?.status !== 200) return new NextResponse('Please try again later.', { status: 503 })
  const headers = new Headers(sent)
  for (const name of IDENTITY) headers.set(name, answer.headers.get(name) ?? '')
  return NextResponse.next({ request: { headers } })
}

function signIn({ headers, nextUrl }: NextRequest) {
  const mode = headers.get('sec-fetch-mode') ?? 'navigate'
  if (mode !== 'navigate') return new NextResponse(null, { status: 401 }) // a page's own call
  const url = new URL('/signin', PORTAL_URL)
  url.searchParams.set('returnTo', PORTAL_URL + nextUrl.pathname + nextUrl.search)
  return NextResponse.redirect(url, 303)
}
