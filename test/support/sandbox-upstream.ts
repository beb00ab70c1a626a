import { parsePamConfig } from 'gatehouse-sandbox/pam/pam-config'
import { createSandbox, type Sandbox } from 'gatehouse-sandbox/sandbox'
import { defaultConfigPath, loadSandboxConfig, type SandboxConfig } from 'gatehouse-sandbox/sandbox-config'

/**
 * The sandbox on free ports, as the upstream of brokers. `SANDBOX_PIPELINE=idx` makes it an
 * Identity Engine org.
 */
export interface SandboxUpstream {
  readonly sandbox: Sandbox
  readonly authnUrl: string
  readonly pamUrl: string
  /** The PAM keys' ids and secrets. */
  readonly pamKeys: readonly string[]
  /** The broker's variables for the sandbox's Authentication API. */
  readonly signInEnv: Readonly<Record<string, string>>
  /** The broker's variables for the sandbox's PAM API. */
  readonly pamEnv: Readonly<Record<string, string>>
  close(): Promise<void>
}

export interface SandboxUpstreamOptions {
  readonly sandboxConfig?: ((config: SandboxConfig) => SandboxConfig) | undefined
  readonly sandboxNow?: (() => number) | undefined
}

export async function startSandboxUpstream({
  sandboxConfig = (same) => same,
  sandboxNow: now,
}: SandboxUpstreamOptions = {}): Promise<SandboxUpstream> {
  const pipeline = process.env.SANDBOX_PIPELINE === 'idx' ? 'idx' : 'v1'
  const config = sandboxConfig({ ...loadSandboxConfig(defaultConfigPath), pipeline })
  const sandbox = createSandbox({ config, ...(now === undefined ? {} : { now }) })
  const { authnUrl, pamUrl, close } = await sandbox.listen()
  const { team, keys } = parsePamConfig(config.pam)
  const [{ keyId, keySecret } = { keyId: '', keySecret: '' }] = keys
  return {
    sandbox,
    authnUrl,
    pamUrl,
    pamKeys: keys.flatMap((key) => [key.keyId, key.keySecret]),
    signInEnv: { AUTHN_BASE_URL: authnUrl, AUTHN_API_TOKEN: sandbox.apiToken },
    pamEnv: {
      PAM_BASE_URL: pamUrl,
      PAM_TEAM: team,
      PAM_KEY_ID: keyId,
      PAM_KEY_SECRET: keySecret,
      PAM_DIRECTORY: 'all',
    },
    close,
  }
}
