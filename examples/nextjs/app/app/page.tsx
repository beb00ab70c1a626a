import { headers } from 'next/headers'

// biome-ignore lint/style/noDefaultExport: Next.js requires it
export default async function Page() {
  const login = (await headers()).get('x-auth-request-preferred-username') ?? ''
  return <p>Signed in as {decodeURIComponent(login)}</p>
}
