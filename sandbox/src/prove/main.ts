#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxConfig } from '../sandbox-config.ts'
import { createCaller } from './caller.ts'
import type { Need } from './check.ts'
import { ALL_CHECKS } from './checks/all-checks.ts'
import type { Context } from './context.ts'
import { NOT_SEEN } from './not-seen.ts'
import { isNamed, type ProveOptions, parseOptions, USAGE } from './options.ts'
import { createOrgClient } from './org.ts'
import { createOutputFolder, type OutputFolder } from './output-folder.ts'
import { createPace } from './pace.ts'
import { createPersonAtTerminal } from './person.ts'
import { countsOf, differencesOf, ID_COLUMNS, lineOf, mergeReports } from './report.ts'
import { type Proof, runProof } from './run-proof.ts'
import { startSandboxTarget } from './sandbox-target.ts'
import type { Target } from './target.ts'
import { createTerminal, type Terminal } from './terminal.ts'

const EX_USAGE = 64
const INTERRUPTED = 130
const POLL_MS = 4000
const PHONE_GAP_MS = 31_000
const LOG_LAG_MS = 20_000
const DELIVERY_WAIT_MS = 60_000

/** A longer wait is told, so that nobody takes it for the end. */
const TOLD_WAIT_MS = 5000

const print = (text: string) => process.stdout.write(`${text}\n`)

async function run(options: ProveOptions): Promise<number> {
  const folder = createOutputFolder(options.output)
  if (options.clean) return clean(options, folder)
  const earlier = folder.leftovers()
  const abort = new AbortController()
  const interrupt = () => {
    print(abort.signal.aborted ? 'Still deleting …' : 'Interrupted: what the run created is deleted …')
    abort.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  // a closed pipe or terminal must not keep the run from deleting
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => abort.abort())
  const { stdin: input, stdout: output } = process
  const terminal = createTerminal({ input, output, signal: abort.signal, onInterrupt: interrupt })
  const { only } = options
  const checks = ALL_CHECKS.filter(({ id }) => only.length === 0 || only.some((name) => isNamed(id, name)))
  const proofs: Proof[] = []
  for (const start of options.sandbox ? sandboxes() : [async () => orgOf(options, terminal)]) {
    const { target, close, engine } = await start()
    try {
      const proof = await runProof({
        target,
        checks: checks.filter(({ needs }) => engine === undefined || isAbout(needs, engine)),
        journal: folder.journal,
        isSandbox: options.sandbox,
        onResult: (result) => print(lineOf(result)),
        now: Date.now,
        pause,
        signal: abort.signal,
      })
      proofs.push(proof)
    } finally {
      await close()
    }
  }
  const report = mergeReports(proofs.map((proof) => proof.report))
  const { results, stopped, left, moved } = report
  folder.keepLeftovers([...earlier, ...left])
  folder.write(proofs)
  print(`\n${countsOf(results)}\nReport: ${options.output}/report.md`)
  const differences = differencesOf(report)
  if (differences.length > 0) print(`The org differs from the sandbox in: ${differences.join(', ')}`)
  if (stopped !== undefined) print(`The run ended early: ${stopped}`)
  if (left.length > 0) print(`Not deleted, so run --clean: ${left.join(', ')}`)
  if (moved.length > 0)
    print(`Look at the order of the org's policies, which may have changed: ${moved.join(', ')}`)
  if (earlier.length > 0) print(`An earlier run has left something, so run --clean: ${earlier.join(', ')}`)
  if (abort.signal.aborted) return INTERRUPTED
  if (stopped !== undefined || left.length + moved.length > 0) return 2
  return results.some(({ result }) => result === 'disproved') ? 1 : 0
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms > TOLD_WAIT_MS) print(`… waits ${Math.ceil(ms / 1000)} s, to be gentle to the org and the phone`)
  return sleep(ms, undefined, signal && { signal })
}

interface Started {
  readonly target: Target
  close(): Promise<void>
  /** Only checks about this engine are run. Undefined: all. */
  readonly engine?: Context['engine']
}
type Start = () => Promise<Started>

/** One for each engine, so that every check can be run. */
function sandboxes(): Start[] {
  return [
    async () => ({ ...(await startSandboxTarget()), engine: 'classic' }),
    async () => {
      const change = (config: SandboxConfig) => {
        config.pipeline = 'idx'
      }
      return { ...(await startSandboxTarget({ change })), engine: 'identity' }
    },
  ]
}

/** Checks that are about no engine are run on Classic Engine. */
function isAbout(needs: readonly Need[], engine: Context['engine']): boolean {
  return needs.includes('identityEngine') === (engine === 'identity')
}

function orgOf(options: ProveOptions, terminal: Terminal): Started {
  return { target: targetOf(options, terminal), close: async () => terminal.close() }
}

/** Deletes what an earlier run left: what its folder names, and what the org has by that name. */
async function clean({ org, callsPerMinute }: ProveOptions, folder: OutputFolder): Promise<number> {
  if (org === undefined) return EX_USAGE
  const { nextTurn } = createPace({ callsPerMinute, now: Date.now, pause })
  const client = createOrgClient({
    call: createCaller({ origin: org.url, nextTurn, now: Date.now }),
    apiToken: org.apiToken,
    run: '',
    mailDomain: '',
    journal: folder.journal,
    password: () => '',
    now: Date.now,
    pause,
    settleMs: 0,
  })
  const { deleted, left } = await client.deleteLeftovers(folder.leftovers())
  for (const name of deleted) print(`deleted ${name}`)
  for (const name of left) print(`not deleted ${name}`)
  folder.keepLeftovers(left)
  print(`${deleted.length} deleted, ${left.length} left`)
  return left.length === 0 ? 0 : 2
}

function targetOf(
  { org, pam, phone, mailDomain, portalOrigin, eventHook, callsPerMinute, withPerson }: ProveOptions,
  { ask }: Terminal,
): Target {
  if (org === undefined) throw new Error('no org')
  return {
    orgUrl: org.url,
    apiToken: org.apiToken,
    brokerToken: org.brokerToken,
    pam,
    phone,
    mailDomain,
    portalOrigin,
    eventHook: eventHook && { ...eventHook, waitMs: DELIVERY_WAIT_MS },
    person: withPerson ? createPersonAtTerminal(ask) : undefined,
    callsPerMinute,
    phoneGapMs: PHONE_GAP_MS,
    pollMs: POLL_MS,
    settleMs: LOG_LAG_MS,
  }
}

const ids = ALL_CHECKS.map(({ id }) => id)
const parsed = parseOptions(process.argv.slice(2), process.env, ids)
switch (parsed.kind) {
  case 'help':
    print(USAGE)
    break
  case 'list':
    for (const { id, belief } of ALL_CHECKS) print(`${id.padEnd(ID_COLUMNS)} ${belief}`)
    for (const [id, why] of Object.entries(NOT_SEEN)) print(`${id.padEnd(ID_COLUMNS)} no check: ${why}`)
    break
  case 'wrong':
    process.stderr.write(`${parsed.problems.join('\n')}\n\n${USAGE}`)
    process.exitCode = EX_USAGE
    break
  case 'run':
    try {
      process.exitCode = await run(parsed.options)
    } catch (error) {
      process.stderr.write(`The run failed: ${error instanceof Error ? error.message : 'unknown error'}\n`)
      process.exitCode = 2
    }
}
