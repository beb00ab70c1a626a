import { readFileSync } from 'node:fs'
import { v5 as uuidFromName } from 'uuid'
import { z } from 'zod'
import type { EventHookAddress } from '../hook-calls.ts'
import { configuredGroupSchema, type PamConfig, parsePamConfig } from '../pam/pam-config.ts'
import { defaultConfigPath, parseSandboxConfig, type SandboxConfig } from '../sandbox-config.ts'
import { type People, peopleSchema } from './people.ts'

/** The message names every wrong field. */
export class InvalidSandboxOptions extends Error {
  override readonly name = 'InvalidSandboxOptions'
}

/** Variables that `startSandbox` sets, or that have no effect because it opens the listeners. */
const REFUSED_VARIABLES: Readonly<Record<string, string>> = {
  PUBLIC_URL: 'use the option broker.publicUrl',
  SIGN_IN_URL: 'use the option broker.signInUrl',
  ALLOWED_ORIGINS: 'use the option broker.allowedOrigins',
  PORT: 'use the option port',
  HOST: 'the broker listens on 127.0.0.1',
  OPS_PORT: 'there is no operations listener',
  OPS_HOST: 'there is no operations listener',
  OPS_TOKEN: 'there is no operations listener',
  OPS_TOKENS: 'there is no operations listener',
  EVENT_HOOK_SECRET: 'use the option eventHook',
  REDIS_URL: 'the broker keeps its data in memory, so that control.reset() can clear it',
}

const brokerSchema = z.strictObject({
  publicUrl: z.string().optional(),
  signInUrl: z.url().optional(),
  allowedOrigins: z.array(z.string().min(1)).default([]),
  env: z
    .record(z.string(), z.string())
    .default({})
    .superRefine((env, context) => {
      for (const [name, message] of Object.entries(REFUSED_VARIABLES))
        if (Object.hasOwn(env, name)) context.addIssue({ code: 'custom', path: [name], message })
    }),
  onLog: z
    .custom<(line: string) => void>((value) => typeof value === 'function', 'expected a function')
    .optional(),
})

const optionsSchema = z.strictObject({
  people: peopleSchema.optional(),
  groups: z.record(z.string().min(1), configuredGroupSchema.shape.roles).default({}),
  port: z.int().min(0).max(65_535).default(0),
  configFile: z.string().min(1).default(defaultConfigPath),
  eventHook: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      secret: z.string().regex(/^[!-~]+( [!-~]+)*$/, 'must be visible ASCII'),
    })
    .optional(),
  broker: z
    .unknown()
    .default(false)
    .transform((value) => (value === true ? {} : value === false ? undefined : value))
    .pipe(brokerSchema.optional()),
})

export type BrokerSettings = z.output<typeof brokerSchema>
export interface ParsedOptions {
  readonly config: SandboxConfig
  readonly port: number
  /** Undefined: the broker, if there is one. */
  readonly eventHook?: EventHookAddress | undefined
  /** Undefined: no broker. */
  readonly broker?: BrokerSettings | undefined
}

/** @throws InvalidSandboxOptions */
export function parseOptions(options: unknown): ParsedOptions {
  const { configFile, people, groups, ...rest } = checked('', () => optionsSchema.parse(options))
  const file = checked(`${configFile}: `, () => {
    const config = parseSandboxConfig(JSON.parse(readFileSync(configFile, 'utf8')))
    return { config, pam: parsePamConfig(config.pam) }
  })
  const pam = { ...file.pam, groups: mergeGroups(file.pam.groups, groups) }
  if (people === undefined) return { config: { ...file.config, pam }, ...rest }
  refuseUnknown(people, { groups: pam.groups, enabledFactors: file.config.enabledFactors })
  const users = people.map(({ user }) => user)
  const groupsOf = Object.fromEntries(
    people.flatMap(({ user, groups }) => (groups ? [[user.login, groups]] : [])),
  )
  const config = { ...file.config, users, pam: { ...pam, users: groupsOf } }
  return { config: checked('people: ', () => parseSandboxConfig(config)), ...rest }
}

/** A group that the configuration has keeps its id. */
function mergeGroups(existing: PamConfig['groups'], added: Readonly<Record<string, string[]>>) {
  const groups = new Map(existing.map((group) => [group.name, group]))
  for (const [name, roles] of Object.entries(added)) {
    const id = groups.get(name)?.id ?? uuidFromName(name, uuidFromName.URL)
    groups.set(name, configuredGroupSchema.parse({ id, name, roles }))
  }
  return [...groups.values()]
}

/** Groups that do not exist, and factors that no sign-in would offer. */
function refuseUnknown(
  people: People,
  { groups, enabledFactors }: { groups: PamConfig['groups']; enabledFactors: readonly string[] },
): void {
  const names = new Set(groups.map(({ name }) => name))
  const problems = people.flatMap((one, person) => [
    ...(one.groups ?? []).flatMap((name, index) =>
      names.has(name)
        ? []
        : [`people.${person}.groups.${index}: there is no group "${name}" (option groups)`],
    ),
    ...one.user.factors.flatMap(({ type, provider }, index) =>
      enabledFactors.includes(`${type}:${provider}`)
        ? []
        : [
            `people.${person}.factors.${index}: ${type}:${provider} is not among the enabledFactors of the configuration: ${enabledFactors.join(', ')}`,
          ],
    ),
  ])
  if (problems.length > 0) throw new InvalidSandboxOptions(problems.join('; '))
}

function checked<Value>(prefix: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    throw new InvalidSandboxOptions(`${prefix}${reasonOf(error)}`)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof z.ZodError)
    return error.issues
      .map(({ path, message }) => [...(path.length > 0 ? [path.join('.')] : []), message].join(': '))
      .join('; ')
  return error instanceof Error ? error.message : 'not valid'
}
