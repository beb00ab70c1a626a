import { type Request, type Response, Router } from 'express'
import { accessDenied, invalidToken, notFound, validationFailed } from '../authn/authn-error.ts'
import { clientContextOf } from '../authn/authn-middleware.ts'
import { idFromSeed } from '../authn/issued-tokens.ts'
import type { Org } from '../authn/org.ts'
import { changePasswordStrictly } from '../authn/passwords.ts'
import { presentUser } from '../authn/present.ts'
import { newRecoveryToken } from '../authn/recovery.ts'
import { parseBody } from '../authn/schemas.ts'
import type { Factor, User } from '../authn/user.ts'
import {
  changeLifecycle,
  LIFECYCLE_OPERATIONS,
  type LifecycleOperation,
  statusOf,
} from '../authn/user-lifecycle.ts'
import type { EventHook } from '../event-hook.ts'
import type { ManagedEventHook } from './managed-objects.ts'
import {
  addManagedRule,
  createManagedPolicy,
  EVERYONE,
  presentPolicies,
  removeManagedPolicy,
} from './managed-policies.ts'
import {
  activateManagedUser,
  addManagedFactor,
  createManagedUser,
  removeManagedUser,
} from './managed-users.ts'
import {
  changePasswordBody,
  newEventHookBody,
  newFactorBody,
  newGroupBody,
  newPolicyBody,
  newRuleBody,
  newUserBody,
  policyType,
} from './management-bodies.ts'

type ManagementRoutesOptions = {
  org: Org
  eventHook: Pick<EventHook, 'add'>
  originOf: (req: Request) => string
}

/**
 * What a test of an org needs of Okta's management API: users, their lifecycle and factors, groups,
 * policies of groups, and event hooks. An administrator's token (`adminTokens`) is
 * required: 403 E0000006 with a token that may only read.
 */
export function createManagementRoutes({ org, eventHook, originOf }: ManagementRoutesOptions): Router {
  const router = Router({ caseSensitive: true, strict: true })
  const { groups, eventHooks } = org.managed

  on('get', '/api/v1/users', (req, res) => {
    const [, field, prefix = ''] = /^profile\.(login) sw "([^"]*)"$/.exec(String(req.query.search)) ?? []
    if (field === undefined && req.query.limit === undefined)
      throw validationFailed('search', ['search: The search is not supported'])
    const found = org.users.all().filter(({ login }) => field !== undefined && login.startsWith(prefix))
    const [after, limit] = [Number(req.query.after ?? 0), Number(req.query.limit ?? MAX_PAGE)]
    if (found.length > after + limit) {
      const next = new URLSearchParams({ search: String(req.query.search), after: String(after + limit) })
      next.set('limit', String(limit))
      res.set('Link', `<${originOf(req)}/api/v1/users?${next}>; rel="next"`)
    }
    res.json(found.slice(after, after + limit).map(present))
  })
  on('post', '/api/v1/users', (req, res) => {
    const isActivated = req.query.activate !== 'false'
    res.json(present(createManagedUser(org, parseBody(newUserBody, req.body), isActivated)))
  })
  on('delete', '/api/v1/users/:id', async (req, res) => {
    const user = userOf(req)
    if (statusOf(user) === 'DEPROVISIONED') removeManagedUser(org, user)
    else await deactivate(user)
    res.status(204).end()
  })
  on('delete', '/api/v1/users/:id/sessions', async (req, res) => {
    await changeLifecycle(org, userOf(req), 'clear_sessions')
    res.status(204).end()
  })
  on('post', '/api/v1/users/:id/lifecycle/:operation', async (req, res) => {
    res.json(await lifecycle(req, userOf(req), String(req.params.operation)))
  })
  /** The user's own recovery, without a message: the link for an administrator who passes it on. */
  on('post', '/api/v1/users/:id/credentials/forgot_password', (req, res) => {
    res.json({ resetPasswordUrl: resetPasswordUrl(req, userOf(req)) })
  })
  /**
   * `strict`: "validates against the password minimum age policy" (okta-sdk-golang,
   * ApiChangePasswordRequest).
   */
  on('post', '/api/v1/users/:id/credentials/change_password', (req, res) => {
    if (req.query.strict !== 'true') throw validationFailed('strict', ['strict: Only true is supported'])
    const { oldPassword, newPassword } = parseBody(changePasswordBody, req.body)
    const body = { oldPassword: oldPassword.value, newPassword: newPassword.value }
    changePasswordStrictly(org, userOf(req), body)
    res.json({ password: {} })
  })
  on('get', '/api/v1/users/:id/factors', (req, res) => {
    res.json(userOf(req).factors.map(presentFactor))
  })
  on('post', '/api/v1/users/:id/factors', (req, res) => {
    res.json(presentFactor(addManagedFactor(org, userOf(req), parseBody(newFactorBody, req.body))))
  })

  on('get', '/api/v1/groups', (req, res) => {
    const all = [EVERYONE, ...[...groups].map(([id, { name }]) => ({ id, name }))]
    const found = all.filter(({ name }) => name.startsWith(String(req.query.q)))
    res.json(found.map(({ id, name }) => ({ id, profile: { name } })))
  })
  on('post', '/api/v1/groups', (req, res) => {
    const { name } = parseBody(newGroupBody, req.body).profile
    const id = idFromSeed('00g', `group ${name}`)
    groups.set(id, { name, members: new Set() })
    res.json({ id, profile: { name } })
  })
  on('put', '/api/v1/groups/:id/users/:userId', (req, res) => {
    const group = groups.get(String(req.params.id))
    if (group === undefined) throw notFound(`${req.params.id} (UserGroup)`)
    const user = org.users.findById(String(req.params.userId))
    if (user === undefined) throw notFound(`${req.params.userId} (User)`)
    group.members.add(user.id)
    res.status(204).end()
  })
  on('delete', '/api/v1/groups/:id', (req, res) => {
    if (!groups.delete(String(req.params.id))) throw notFound(`${req.params.id} (UserGroup)`)
    res.status(204).end()
  })

  on('get', '/api/v1/policies', (req, res) => {
    const { success, data: type } = policyType.safeParse(req.query.type)
    if (!success) throw validationFailed('type', ['type: The type is not supported'])
    res.json(presentPolicies(org.managed.policies, type))
  })
  on('post', '/api/v1/policies', (req, res) => {
    res.json(createManagedPolicy(org.managed, parseBody(newPolicyBody, req.body)))
  })
  on('post', '/api/v1/policies/:id/rules', (req, res) => {
    res.json(addManagedRule(org.managed, String(req.params.id), parseBody(newRuleBody, req.body)))
  })
  on('delete', '/api/v1/policies/:id', (req, res) => {
    removeManagedPolicy(org.managed, String(req.params.id))
    res.status(204).end()
  })

  on('get', '/api/v1/eventHooks', (_req, res) => {
    res.json([...eventHooks].map(presentEventHook))
  })
  on('post', '/api/v1/eventHooks', (req, res) => {
    const { name, events, channel } = parseBody(newEventHookBody, req.body)
    const { uri, authScheme } = channel.config
    const receiver = eventHook.add({ url: uri, secret: authScheme.value }, events.items)
    const id = idFromSeed('who', `event hook ${name}`)
    eventHooks.set(id, { name, receiver, isActive: true, isVerified: false })
    res.json(presentEventHook([id, eventHookOf(id)]))
  })
  on('post', '/api/v1/eventHooks/:id/lifecycle/verify', async (req, res) => {
    const id = String(req.params.id)
    const hook = eventHookOf(id)
    hook.isVerified = await hook.receiver.verify()
    if (!hook.isVerified) throw validationFailed('eventHook', ['eventHook: The verification failed'])
    res.json(presentEventHook([id, hook]))
  })
  on('post', '/api/v1/eventHooks/:id/lifecycle/deactivate', (req, res) => {
    const id = String(req.params.id)
    const hook = eventHookOf(id)
    hook.isActive = false
    hook.receiver.remove()
    res.json(presentEventHook([id, hook]))
  })
  on('delete', '/api/v1/eventHooks/:id', (req, res) => {
    const id = String(req.params.id)
    if (eventHookOf(id).isActive) throw validationFailed('eventHook', ['eventHook: It is active'])
    eventHooks.delete(id)
    res.status(204).end()
  })
  return router

  function eventHookOf(id: string): ManagedEventHook {
    const hook = eventHooks.get(id)
    if (hook === undefined) throw notFound(`${id} (EventHook)`)
    return hook
  }

  function on(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    handle: (req: Request, res: Response) => void | Promise<void>,
  ): void {
    router[method](path, (req, res, next) => {
      // a page activates a factor at this path, too
      if (req.body?.stateToken !== undefined) return next('route')
      requireAdministrator(req)
      return handle(req, res)
    })
  }

  function requireAdministrator(req: Request): void {
    const { trusted, administrator } = clientContextOf(org, req)
    if (!trusted) throw invalidToken()
    if (administrator !== true) throw accessDenied()
  }

  function userOf(req: Request): User {
    const user = org.users.findById(String(req.params.id))
    if (user === undefined) throw notFound(`${req.params.id} (User)`)
    return user
  }

  async function lifecycle(req: Request, user: User, operation: string): Promise<object> {
    switch (operation) {
      case 'activate': {
        const activationToken = activateManagedUser(org, user)
        return { activationUrl: `${originOf(req)}/welcome/${activationToken}`, activationToken }
      }
      case 'expire_password':
        user.passwordExpired = true
        return present(user)
      case 'unlock':
        user.lockedOut = false
        user.wrongPasswords = 0
        return {}
      case 'reset_password':
        await change(user, operation, req.query.sendEmail !== 'false')
        return req.query.sendEmail === 'false' ? { resetPasswordUrl: resetPasswordUrl(req, user) } : {}
      default: {
        const known = LIFECYCLE_OPERATIONS.find((name) => name === operation)
        if (known === undefined) throw notFound(`${operation} (lifecycle)`)
        await change(user, known)
        return {}
      }
    }
  }

  /** An operation that the user's status does not allow is 403 E0000001, as at Okta. */
  async function change(user: User, operation: LifecycleOperation, sendsEmail = true): Promise<void> {
    try {
      await changeLifecycle(org, user, operation, sendsEmail)
    } catch {
      throw validationFailed(operation, [`${operation}: The user's status does not allow it`])
    }
  }

  async function deactivate(user: User): Promise<void> {
    if (statusOf(user) === 'STAGED') user.adminStatus = 'DEPROVISIONED'
    else await changeLifecycle(org, user, 'deactivate')
  }

  function resetPasswordUrl(req: Request, user: User): string {
    return `${originOf(req)}/reset_password/${newRecoveryToken(org, user, 'PASSWORD', undefined)}`
  }
}

const MAX_PAGE = 200

function present(user: User): object {
  return { ...presentUser(user), status: statusOf(user) }
}

function presentEventHook([id, { name, isActive, isVerified }]: [string, ManagedEventHook]): object {
  return {
    id,
    name,
    status: isActive ? 'ACTIVE' : 'INACTIVE',
    verificationStatus: isVerified ? 'VERIFIED' : 'UNVERIFIED',
  }
}

function presentFactor({ id, factorType, provider }: Factor): object {
  return { id, factorType, provider, status: 'ACTIVE' }
}
