import { randomBytes } from 'node:crypto'
import { RESPONSE_LOCATION, RESPONSE_NONCE } from '../http/doctor-probe.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail } from './finding.ts'
import { outcomeOf, type Probed, type SendProbe } from './probes.ts'

/** Asks for an answer with the headers of a redirect in a sign-in. */
export function probeResponse(probe: SendProbe): Promise<Probed> {
  return probe({ nonce: RESPONSE_NONCE + randomBytes(13).toString('hex') })
}

/** Whether long headers and a redirect come back unchanged. */
export async function judgeResponses({ probe }: { readonly probe: SendProbe }): Promise<Finding | undefined> {
  const probed = await probeResponse(probe)
  const { answer, response } = probed
  if (answer === undefined)
    return fail(
      `the proxy does not pass a response with headers of 6 kB (${outcomeOf(probed)})`,
      `Redirects to Okta are long (nginx: proxy_buffer_size 32k). ${PROXY_FIX}`,
    )
  if (answer.headers === undefined) return undefined // before 0.3.0, the answer has no Location
  const { location } = response.headers
  if (location === RESPONSE_LOCATION) return undefined
  const [what, where] = location === undefined ? ['removes', 'nowhere'] : ['changes', 'elsewhere']
  return fail(
    `the proxy ${what} Location, so redirects to Okta lead ${where}`,
    `It must pass Location unchanged (nginx: proxy_redirect off; Apache: no ProxyPassReverse; IIS: do not reverse rewrite the host in response headers). ${PROXY_FIX}`,
  )
}
