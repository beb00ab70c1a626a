import { innermostFailure } from '../observability/dependency-failure.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { startTimer } from './start-timer.ts'
import type { UpstreamClient } from './upstream-client.ts'
import { UpstreamFailure } from './upstream-failure.ts'

/** `v1`: Classic Engine. `idx`: Identity Engine. */
export type OrgPipeline = 'v1' | 'idx'

/** Okta's public description of the org. It needs no API token. */
export const ORGANIZATION_PATH = '/.well-known/okta-organization'
const TIMEOUT_MS = 10_000
const MAX_WAIT_MS = 2000

/**
 * Okta's public description of the org, without an API token.
 *
 * @throws UpstreamFailure if there is no usable response; `invalid_response`: the response does not name a known pipeline
 */
export async function readOrgPipeline(client: Pick<UpstreamClient, 'send'>): Promise<OrgPipeline> {
  const { status, json } = await client.send({
    method: 'GET',
    path: ORGANIZATION_PATH,
    headers: { Accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    wait: { urgent: false, budget: { leftMs: MAX_WAIT_MS } }, // steps of sign-ins get connections first
  })
  const pipeline: unknown = status === 200 ? Object(json).pipeline : undefined
  if (pipeline === 'v1' || pipeline === 'idx') return pipeline
  throw new UpstreamFailure('invalid_response', { upstreamStatus: status })
}

export interface OrgPipelineOptions {
  readonly client: Pick<UpstreamClient, 'send'>
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'authnPipelineInfo'>
  readonly startTimer?: typeof startTimer
  readonly random?: () => number
}

const CHECK_EVERY_MS = 300_000
const RETRY_AFTER_MS = 60_000

/** Logs the org's pipeline, now and when it changes. A failed check changes nothing and is logged once. */
export function watchOrgPipeline(options: OrgPipelineOptions): { stop(): void } {
  const { client, log, metrics, random = Math.random } = options
  const schedule = options.startTimer ?? startTimer
  let known: OrgPipeline | undefined
  let hasFailed = false
  let isStopped = false
  let cancelTimer = () => {}
  void check()

  async function check(): Promise<void> {
    const pipeline = await readOrgPipeline(client).catch(reportFailure)
    if (isStopped) return
    if (pipeline !== undefined) report(pipeline)
    const delayMs = known === undefined ? RETRY_AFTER_MS : CHECK_EVERY_MS
    cancelTimer = schedule(() => void check(), delayMs * (1 + random() / 4)) // jitter: replicas start together
  }

  function report(pipeline: OrgPipeline): void {
    hasFailed = false
    if (pipeline === known) return
    metrics.authnPipelineInfo.reset()
    metrics.authnPipelineInfo.set({ pipeline }, 1)
    if (known === undefined) log.info('authn_pipeline', { upstream: 'authn', name: pipeline })
    else log.warn('authn_pipeline_changed', { upstream: 'authn', name: pipeline })
    known = pipeline
  }

  function reportFailure(error: unknown): undefined {
    if (!hasFailed && !isStopped) {
      const { outcome, code, upstreamStatus } = innermostFailure(error) ?? {}
      log.warn('authn_pipeline_unknown', { upstream: 'authn', outcome, code, upstreamStatus })
    }
    hasFailed = true
  }

  return {
    stop() {
      isStopped = true
      cancelTimer()
    },
  }
}
