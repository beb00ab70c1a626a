import { type Call, type Caller, outcomeOf, RateLimitReached, type Reply } from './caller.ts'
import { type Json, listOf, textAt } from './json.ts'
import { NotTestable } from './not-testable.ts'
import { POLICY_TYPES } from './policies.ts'

/** All that a run creates has a name that begins so. */
export const NAME_PREFIX = 'gatehouse-proof-'

/** In the order of the deletion. */
const KINDS = ['eventHooks', 'policies', 'groups', 'users'] as const
export type ObjectKind = (typeof KINDS)[number]

/** What is created is written down before it exists, so that nothing is left behind. */
export interface Journal {
  add(kind: ObjectKind, name: string): void
}

export interface OwnedObjectsOptions {
  readonly call: Caller
  readonly apiToken: string
  readonly run: string
  readonly journal: Journal
  readonly now: () => number
  readonly pause: (ms: number) => Promise<void>
}

export type OwnedObjects = ReturnType<typeof createOwnedObjects>

const deletion = (path: string): Call => ({ method: 'DELETE', path })

const DELETION: Readonly<Record<ObjectKind, (id: string) => readonly Call[]>> = {
  eventHooks: (id) => [
    { method: 'POST', path: `/api/v1/eventHooks/${id}/lifecycle/deactivate` },
    deletion(`/api/v1/eventHooks/${id}`),
  ],
  policies: (id) => [deletion(`/api/v1/policies/${id}`)],
  groups: (id) => [deletion(`/api/v1/groups/${id}`)],
  // the first call deactivates the user, the second one deletes it
  users: (id) => [deletion(`/api/v1/users/${id}`), deletion(`/api/v1/users/${id}`)],
}

/** Where the objects whose names begin so are listed, and where an object has its name. */
const LISTS: Readonly<Record<ObjectKind, { paths: (prefix: string) => readonly string[]; name: string }>> = {
  eventHooks: { paths: () => ['/api/v1/eventHooks'], name: 'name' },
  policies: { paths: () => POLICY_TYPES.map((type) => `/api/v1/policies?type=${type}`), name: 'name' },
  groups: {
    paths: (prefix) => [`/api/v1/groups?${new URLSearchParams({ q: prefix })}`],
    name: 'profile.name',
  },
  users: {
    paths: (prefix) => [
      `/api/v1/users?${new URLSearchParams({ search: `profile.login sw "${prefix}"`, limit: '200' })}`,
    ],
    name: 'profile.login',
  },
}

/** What a run has created at the org, until it is deleted. */
export function createOwnedObjects({ call, apiToken, run, journal, now, pause }: OwnedObjectsOptions) {
  /** Names by id. */
  const own: Readonly<Record<ObjectKind, Map<string, string>>> = {
    eventHooks: new Map(),
    policies: new Map(),
    groups: new Map(),
    users: new Map(),
  }
  /** What may exist, as its creation was sent, but no answer has come. */
  const pending = new Set<string>()
  let count = 0

  const send = (request: Call) =>
    call({ ...request, headers: { ...request.headers, authorization: `SSWS ${apiToken}` } })

  /** A call of the management API. @throws NotTestable if the org refuses it */
  async function manage(request: Call): Promise<Reply> {
    return accepted(request, await send(request))
  }

  async function create(kind: ObjectKind, name: string, request: Call): Promise<Json & { id: string }> {
    journal.add(kind, name)
    pending.add(name)
    const reply = await send(request)
    if (reply.status < 500) pending.delete(name)
    const { body } = accepted(request, reply)
    const id = textAt(body, 'id')
    own[kind].set(id, name)
    return { ...body, id }
  }

  /** Finds what exists by the names of the run, or of earlier ones. */
  async function adopt(prefix: string, names: Iterable<string>): Promise<void> {
    for (const kind of KINDS)
      for (const path of LISTS[kind].paths(prefix))
        for (const object of await listAll(path)) take(kind, object)
    for (const login of [...names].filter((name) => name.includes('@'))) {
      // the search lags behind
      const reply = await send({ method: 'GET', path: `/api/v1/users/${encodeURIComponent(login)}` })
      if (reply.status < 300) take('users', reply.body)
    }

    function take(kind: ObjectKind, object: unknown): void {
      const name = textAt(object, LISTS[kind].name)
      if (name.startsWith(prefix)) own[kind].set(textAt(object, 'id'), name)
    }
  }

  /** Over all pages. What the token may not list, it has not created. */
  async function listAll(first: string): Promise<readonly unknown[]> {
    const found: unknown[] = []
    for (let path: string | undefined = first; path !== undefined; ) {
      const reply: Reply = await send({ method: 'GET', path })
      if (reply.status === 403) return found
      found.push(...listOf(accepted({ method: 'GET', path }, reply).data))
      path = nextPageOf(reply)
    }
    return found
  }

  /** @returns the names of what could not be deleted */
  async function deleteAll(): Promise<string[]> {
    if (pending.size > 0)
      await adopt(`${NAME_PREFIX}${run}-`, pending).then(
        () => pending.clear(),
        () => undefined, // they stay, and are named
      )
    const left: string[] = []
    for (const kind of KINDS)
      for (const [id, name] of [...own[kind]]) {
        const isGone = await sendAll(DELETION[kind](id))
        if (isGone) own[kind].delete(id)
        else left.push(name)
      }
    return [...left, ...pending]
  }

  async function sendAll(calls: readonly Call[]): Promise<boolean> {
    for (const each of calls) {
      const status = (await statusOf(each)) ?? (await statusOf(each))
      if (status === undefined || (status >= 300 && status !== 404)) return false
    }
    return true
  }

  /**
   * Undefined if there is no answer. After a 429, waits for the reset: what the run made must go.
   */
  async function statusOf(request: Call): Promise<number | undefined> {
    try {
      return (await send(request)).status
    } catch (error) {
      if (error instanceof RateLimitReached)
        await pause(Math.min(Math.max(error.resetAtMs - now(), 0) + 1000, LONGEST_WAIT_MS))
      return undefined
    }
  }

  return {
    /** A call of the management API whose refusal a check looks at. */
    send,
    manage,
    create,
    listAll,
    nextName() {
      count += 1
      return `${NAME_PREFIX}${run}-${count}`
    },
    /** @throws for any other user, before anything is sent */
    requireUser(id: string): string {
      if (!own.users.has(id)) throw new Error('not a user of this run')
      return id
    },
    deleteAll,
    /** Takes over what earlier runs left, and deletes it. */
    async deleteLeftovers(names: readonly string[]): Promise<{ deleted: string[]; left: string[] }> {
      await adopt(NAME_PREFIX, names)
      const found = KINDS.flatMap((kind) => [...own[kind].values()])
      const left = await deleteAll()
      return { deleted: found.filter((name) => !left.includes(name)), left }
    },
  }
}

const LONGEST_WAIT_MS = 120_000

function accepted({ method, path }: Call, reply: Reply): Reply {
  if (reply.status < 400) return reply
  const template = path.replace(/\?.*/, '').replaceAll(/\/[0-9a-zA-Z]{20}\b/g, '/{id}')
  throw new NotTestable(`the org refuses ${method} ${template}: ${outcomeOf(reply)}`)
}

/** A page of another address gets no token: callers send to the org only. */
function nextPageOf({ headers }: Reply): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]
  if (next === undefined || !URL.canParse(next)) return undefined
  const { pathname, search } = new URL(next)
  return pathname + search
}
