import type { ProbeAnswer } from '../http/doctor-probe.ts'
import type { IsTrustedProxy } from '../http/request-context.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

export interface ClientAddressOptions {
  /** Whether PUBLIC_URL is https, so that there must be a proxy. */
  readonly secure: boolean
  /** Whether TRUST_PROXY contains an address. */
  readonly isTrustedProxy: IsTrustedProxy
}

/** An address for documentation (RFC 5737), which no client and no proxy has. */
export const FORGED_ADDRESS = '192.0.2.1'

export const PROXY_FIX = 'Compare the configuration of the proxy with the examples in deploy/proxies.'

type Arrived = Pick<ProbeAnswer, 'address' | 'firstForwarded' | 'addressProblem'>

/**
 * Judges the client's address of two requests: `seen` of one without `X-Forwarded-For`, whose
 * entries are therefore all from proxies, and `forged` of one with `FORGED_ADDRESS` in it.
 * Undefined: the broker did not answer the probe.
 */
export function judgeClientAddress(
  seen: Arrived | undefined,
  forged: Arrived | undefined,
  { secure, isTrustedProxy }: ClientAddressOptions,
): Finding {
  if (seen === undefined || forged === undefined)
    return warn('the broker does not say which address it takes for the client’s', NO_ANSWER_FIX)
  const { address, firstForwarded, addressProblem } = seen
  const adds = `The proxy must add the address of its client. ${PROXY_FIX}`
  if (addressProblem === 'empty') return fail('a proxy adds an empty entry to X-Forwarded-For', adds)
  if (addressProblem === 'malformed')
    return fail('a proxy adds an entry to X-Forwarded-For that is not an address', adds)
  if (addressProblem === 'missing')
    return forged.address === FORGED_ADDRESS
      ? fail('the proxy passes the X-Forwarded-For of clients, and adds no address: it can be forged', adds)
      : fail('X-Forwarded-For does not arrive', `The proxy must send it. ${PROXY_FIX}`)
  if (firstForwarded === undefined && secure)
    return fail(
      `X-Forwarded-For does not arrive: all users share the address ${address}`,
      `The proxy must send it, and TRUST_PROXY must contain the address of the proxy. ${PROXY_FIX}`,
    )
  if (firstForwarded !== undefined && firstForwarded !== address)
    return fail(
      `TRUST_PROXY does not contain ${address}, which sent X-Forwarded-For: all users share this address`,
      'If it is the address of your proxy, add it to TRUST_PROXY.',
    )
  if (forged.address !== FORGED_ADDRESS)
    return ok('Origin, Sec-Fetch-Site and the client’s address arrive; a forged X-Forwarded-For is not used')
  if (isTrustedProxy(FORGED_ADDRESS))
    return fail(
      'a forged X-Forwarded-For is used: TRUST_PROXY contains addresses of clients',
      'Set TRUST_PROXY to the addresses of your proxies only.',
    )
  if (isTrustedProxy(address))
    return warn(
      `TRUST_PROXY contains the address of the doctor (${address}), so the doctor cannot check whether a forged X-Forwarded-For is used`,
      'Set TRUST_PROXY to the addresses of your proxies only, or run the doctor from another address.',
    )
  return fail(
    'a forged X-Forwarded-For is used',
    `The proxy must replace X-Forwarded-For, or add to it. ${PROXY_FIX}`,
  )
}

const NO_ANSWER_FIX =
  'Run the doctor with the version and the SECRET_KEYS of the running broker, on a machine whose clock differs by less than 5 minutes. The proxy must pass the header X-Gatehouse-Doctor. By hand: send a request with X-Forwarded-For: 192.0.2.1 to PUBLIC_URL. The log of the broker must not show it as the address.'
