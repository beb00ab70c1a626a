export type Link = { name?: string; title?: string; href: string; hints: { allow: string[] } }

export function actionLink(
  origin: string,
  path: string,
  method: 'POST' | 'GET' = 'POST',
  name: string | undefined = undefined,
): Link {
  return { ...(name === undefined ? {} : { name }), href: origin + path, hints: { allow: [method] } }
}
