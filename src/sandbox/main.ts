import { createSandbox } from './sandbox.ts'
import { defaultConfigPath, loadSandboxConfig, type SandboxConfig } from './sandbox-config.ts'
import { usersTable } from './users-table.ts'

const DEFAULT_AUTHN_PORT = 8081
const DEFAULT_PAM_PORT = 8082

/** Runs the sandbox until SIGTERM or SIGINT. */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = loadSandboxConfig(env.SANDBOX_CONFIG || defaultConfigPath)
  const sandbox = createSandbox({ config: withPamLinks(config, env.SANDBOX_PAM_LINK_ORIGIN) })
  const addresses = await sandbox.listen({
    authnPort: portFrom(env.SANDBOX_AUTHN_PORT, DEFAULT_AUTHN_PORT),
    pamPort: portFrom(env.SANDBOX_PAM_PORT, DEFAULT_PAM_PORT),
    host: env.SANDBOX_HOST || '127.0.0.1',
  })
  process.stdout.write(`
Authentication API  ${addresses.authnUrl}   API token: ${sandbox.apiToken}
PAM API             ${addresses.pamUrl}
Codes, emails and pushes: ${addresses.authnUrl}/sandbox/users and /sandbox/outbox (docs/sandbox.md)

${usersTable(config.users)}

`)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void addresses.close())
}

/** Behind a TLS proxy, pagination links must have the proxy's origin. The PAM sandbox validates the value. */
function withPamLinks(config: SandboxConfig, linkOrigin: string | undefined): SandboxConfig {
  return linkOrigin ? { ...config, pam: { ...Object(config.pam), linkOrigin } } : config
}

function portFrom(value: string | undefined, defaultPort: number): number {
  const port = value ? Number(value) : defaultPort
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error('a port must be a number from 0 to 65535')
  return port
}

try {
  await main(process.env)
} catch (error) {
  process.stderr.write(
    `The sandbox did not start: ${error instanceof Error ? error.message : 'unknown error'}\n`,
  )
  process.exitCode = 1
}
