import { randomBytes } from 'node:crypto'
import { ConfigError } from '../../src/config/config-error.ts'
import type { ReadFile } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'

export const KEY = randomBytes(32).toString('base64')

/** The required variables with valid values. `more` adds variables; undefined removes one. */
export function validEnvironment(more: Record<string, string | undefined> = {}) {
  return {
    PUBLIC_URL: 'https://portal.example.com',
    AUTHN_BASE_URL: 'https://org.example.net',
    AUTHN_API_TOKEN: 'marked-api-token',
    REDIS_URL: 'redis://:marked-password@redis.internal:6379/0',
    SECRET_KEYS: KEY,
    ...more,
  }
}

export const PAM = {
  PAM_BASE_URL: 'https://team.pam.example',
  PAM_TEAM: 'acme',
  PAM_KEY_ID: 'key-1',
  PAM_KEY_SECRET: 'marked-key-secret',
}

interface LoadOptions {
  readonly readFile?: ReadFile
  readonly nowMs?: number
}

export function load(more: Record<string, string | undefined> = {}, { readFile, nowMs }: LoadOptions = {}) {
  return loadConfig(validEnvironment(more), readFile, nowMs)
}

/** The problems of a configuration; empty if it is valid. */
export function problemsOf(
  more: Record<string, string | undefined>,
  options: LoadOptions = {},
): readonly string[] {
  try {
    load(more, options)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
