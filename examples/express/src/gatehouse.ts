import type { Request } from 'express'
import type { Access } from 'gatehouse-client'
import { GatehouseUnavailable, gatehouseHeaders } from './gatehouse-proxy.ts'

export interface User {
  /** Okta's id, which never changes: store this. */
  readonly id: string
  readonly login: string
  /** The public id of the session. */
  readonly session: string
}

const TIMEOUT_MS = 5000

/** Calls of this server to Gatehouse, for the user whose browser sent the request. */
export function createGatehouseCalls(gatehouseUrl: string) {
  async function call(req: Request, method: string, path: string, headers: Record<string, string> = {}) {
    try {
      // not the Sec-Fetch headers of the request: they are about the page, which another site may
      // link to
      return await fetch(new URL(path, gatehouseUrl), {
        method,
        headers: { ...gatehouseHeaders(req), ...headers },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
    } catch (error) {
      throw new GatehouseUnavailable('no answer', { cause: error })
    }
  }

  return {
    /** The signed-in user. Also extends the session. @throws GatehouseUnavailable */
    async user(req: Request): Promise<User | undefined> {
      const answer = await call(req, 'GET', '/forward-auth')
      if (answer.status === 401) return undefined
      const header = (name: string) => decodeURIComponent(answer.headers.get(`x-auth-request-${name}`) ?? '')
      const user = { id: header('user'), login: header('preferred-username'), session: header('session') }
      if (answer.status !== 200 || user.id === '') throw new GatehouseUnavailable(`status ${answer.status}`)
      return user
    },

    /** The names of the user's groups. Undefined if they cannot be read now. */
    async groups(req: Request, { session }: User): Promise<readonly string[] | undefined> {
      const headers = { 'x-gatehouse-session': session }
      const answer = await call(req, 'GET', '/api/v1/pam/me', headers).catch(() => undefined)
      if (answer?.status === 404) return [] // Okta Privileged Access does not know the user
      if (!answer?.ok) return undefined
      const access = (await answer.json()) as Access
      return access.groups.map(({ name }) => name)
    },

    /**
     * Ends the session of the page that sent the form. Gatehouse refuses forms of other sites, so
     * it gets the headers that tell where the form comes from. @returns Gatehouse's answer
     */
    signOut(req: Request, session: string): Promise<Response> {
      const headers: Record<string, string> = { 'x-gatehouse-session': session }
      for (const name of ['origin', 'sec-fetch-site']) {
        const value = req.get(name)
        if (value !== undefined) headers[name] = value
      }
      return call(req, 'DELETE', '/api/v1/sessions/me', headers)
    },
  }
}
