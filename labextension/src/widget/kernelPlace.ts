/** What the kernel says of a cell's inspector: its place, `view.place` in Python, and what is not revealed yet. */
import { useCallback, useEffect, useState } from 'react';
import { INSPECTOR_PARTS } from '../protocol/generated';
import { linkTo, parseLink } from '../state/inspector/placeLink';
import {
  NOWHERE,
  type IInspectorPlace,
  type InspectorPartName
} from '../state/inspector/source';
import type { InspectorWidgetModel } from './anywidgetModel';

/** Returns the place, and how to set it; it follows the kernel, and other cells of the same view. */
export function useKernelPlace(
  model: InspectorWidgetModel
): [IInspectorPlace, (place: IInspectorPlace) => void] {
  const [linked, setLinked] = useState(() => withPlace(model.get('place')));
  useEffect(() => {
    const follow = () => {
      const link = model.get('place');
      // What this cell has sent comes back as the same link.
      setLinked(before => (before.link === link ? before : withPlace(link)));
    };
    follow();
    model.on('change:place', follow);
    return () => {
      model.off('change:place', follow);
    };
  }, [model]);
  const setPlace = useCallback(
    (place: IInspectorPlace) => {
      const link = linkTo(model.get('session'), place);
      setLinked({ link, place });
      try {
        model.set('place', link);
        model.save_changes();
      } catch {
        // The comm is closed: the views move all the same.
      }
    },
    [model]
  );
  return [linked.place, setPlace];
}

function withPlace(link: string): { link: string; place: IInspectorPlace } {
  return { link, place: parseLink(link)?.place ?? NOWHERE };
}

/** Returns the parts that are not shown until `view.reveal()` is called. */
export function useHiddenParts(
  model: InspectorWidgetModel
): readonly InspectorPartName[] {
  const [hidden, setHidden] = useState(() => partsNamed(model.get('hidden')));
  useEffect(() => {
    const follow = () => {
      setHidden(partsNamed(model.get('hidden')));
    };
    model.on('change:hidden', follow);
    return () => {
      model.off('change:hidden', follow);
    };
  }, [model]);
  return hidden;
}

/** Returns the parts with these names; a name that a newer kernel knows is left out. */
export function partsNamed(names: readonly string[]): InspectorPartName[] {
  return names.flatMap(name => INSPECTOR_PARTS.filter(part => part === name));
}
