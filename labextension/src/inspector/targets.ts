/** The places that an inspector is opened at: as a command's arguments, a link, and numbers of a view. */
import type { TimelineView } from '../protocol/generated';
import { parseLink, type IInspectorPlace } from '../state/inspector/source';
import type { IInspectorTarget } from '../views/actions/inspector';

/** What a tab shows, as the arguments of its command and as the layout keeps it. */
export interface IInspectorArguments extends IInspectorTarget {
  /** Path of a recorded file, which a kernel of its own reads. */
  path?: string;
  /** A second request to compare with. */
  against?: number;
  policy?: string;
  /** The view that is open. */
  tab?: string;
}

/**
 * Returns the place that a link names, or null where it is none of ours.
 *
 * A `#` before `palimpsest:` lets a link through sanitizers that know only the schemes of the web.
 */
export function readLink(href: string): IInspectorTarget | null {
  const link = parseLink(href.replace(/^#/, ''));
  if (link === null) {
    return null;
  }
  const { request, item } = link.place;
  return {
    session: link.session,
    ...(request === null ? {} : { request }),
    ...(item === null ? {} : { item })
  };
}

const TEXTS = ['session', 'notebook', 'path', 'policy', 'tab'] as const;

/** Returns a command's arguments, without what is of another type; anybody may call a command. */
export function readArguments(
  args: Readonly<Record<string, unknown>>
): IInspectorArguments {
  const target: Record<string, number | string> = {};
  for (const name of TEXTS) {
    const value = args[name];
    if (typeof value === 'string' && value !== '') {
      target[name] = value;
    }
  }
  for (const name of ['request', 'item', 'against'] as const) {
    const value = args[name];
    const isId = typeof value === 'string' && value !== '';
    if (isPlace(value) || (isId && name !== 'against')) {
      target[name] = value as number | string;
    }
  }
  return target;
}

function isPlace(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Returns whether a target's place is given by ids, which only the session's view can turn into numbers. */
export function hasIds({ request, item }: IInspectorTarget): boolean {
  return typeof request === 'string' || typeof item === 'string';
}

/** Returns the place in numbers; an id that the view does not have is left out. */
export function placeOf(
  target: IInspectorArguments,
  view: TimelineView | null = null
): IInspectorPlace {
  const item = numberOf(target.item, id => itemNumber(view, id));
  const request = numberOf(
    target.request,
    id => view?.requests.id.lastIndexOf(id) ?? -1
  );
  return {
    request: request ?? enteredAt(view, item),
    item,
    ...(target.against === undefined ? {} : { against: target.against }),
    ...(target.policy === undefined ? {} : { policy: target.policy }),
    ...(target.tab === undefined ? {} : { tab: target.tab })
  };
}

function numberOf(
  value: number | string | undefined,
  find: (id: string) => number
): number | null {
  if (value === undefined || typeof value === 'number') {
    return value ?? null;
  }
  const link = find(value);
  return link < 0 ? null : link;
}

/** Returns the number of the last item of a part or message: that of a call is its result. */
function itemNumber(view: TimelineView | null, id: string): number {
  return (
    view?.items.id.findLastIndex(itemId => itemId.split('/').includes(id)) ?? -1
  );
}

function enteredAt(
  view: TimelineView | null,
  item: number | null
): number | null {
  return item === null ? null : (view?.items.entered[item] ?? null);
}

/** Returns the id by which a part's context is edited: `message/part/result` is the part. */
export function editTarget(item: string): string {
  const [message = '', part] = item.split('/');
  return part ?? message;
}
