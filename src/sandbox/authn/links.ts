export type Link = { name?: string; href: string; hints: { allow: string[] } }

/** A link with its one method, and a name where it has one. */
export function actionLink(
  origin: string,
  path: string,
  method: 'POST' | 'GET' = 'POST',
  name: string | undefined = undefined,
): Link {
  return { ...(name === undefined ? {} : { name }), href: origin + path, hints: { allow: [method] } }
}
