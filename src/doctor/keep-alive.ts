import type { ProbeAnswer } from '../http/doctor-probe.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, ok, skipped, warn } from './finding.ts'
import type { SendProbe } from './probes.ts'

/** One after another: a proxy may have several processes, and several replicas behind it. */
const PROBES = 8

export async function checkKeepAlive(probe: SendProbe): Promise<Finding> {
  const answers: (ProbeAnswer | undefined)[] = []
  for (let n = 0; n < PROBES; n++) answers.push((await probe()).answer)
  return judgeKeepAlive(answers)
}

type Connection = Pick<ProbeAnswer, 'httpVersion' | 'reused'>

/** Whether the proxy keeps its connections to the broker open. */
export function judgeKeepAlive(answers: readonly (Connection | undefined)[]): Finding {
  const known = answers.filter((answer) => answer?.reused !== undefined)
  const fix = `The proxy must keep connections to the broker open, with HTTP/1.1 (nginx: keepalive in the upstream, proxy_http_version 1.1, Connection ""). ${PROXY_FIX}`
  if (known.length === 0) return skipped('the running broker does not say it')
  if (known.some((answer) => answer?.httpVersion === '1.0'))
    return warn('the proxy speaks HTTP/1.0, with a connection for each request', fix)
  if (known.some((answer) => answer?.reused)) return ok('the proxy keeps connections to the broker open')
  return warn(`the proxy opens a connection for each request (${known.length} of ${known.length})`, fix)
}
