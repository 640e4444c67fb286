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

/** Returns the place, and a function to set it; the place follows the kernel, and other cells of the same view. */
export function useKernelPlace(
  model: InspectorWidgetModel
): [IInspectorPlace, (place: IInspectorPlace) => void] {
  const [linkedPlace, setLinkedPlace] = useState(() =>
    placeOfLink(model.get('place'))
  );
  useEffect(() => {
    const updatePlace = () => {
      const link = model.get('place');
      // What this cell has sent comes back as the same link.
      setLinkedPlace(before =>
        before.link === link ? before : placeOfLink(link)
      );
    };
    updatePlace();
    model.on('change:place', updatePlace);
    return () => {
      model.off('change:place', updatePlace);
    };
  }, [model]);
  const setPlace = useCallback(
    (place: IInspectorPlace) => {
      const link = linkTo(model.get('session'), place);
      setLinkedPlace({ link, place });
      try {
        model.set('place', link);
        model.save_changes();
      } catch {
        // The comm is closed: the views move all the same.
      }
    },
    [model]
  );
  return [linkedPlace.place, setPlace];
}

function placeOfLink(link: string): { link: string; place: IInspectorPlace } {
  return { link, place: parseLink(link)?.place ?? NOWHERE };
}

/** Returns the parts that are not shown until `view.reveal()` is called. */
export function useHiddenParts(
  model: InspectorWidgetModel
): readonly InspectorPartName[] {
  const [hiddenParts, setHiddenParts] = useState(() =>
    partsNamed(model.get('hidden'))
  );
  useEffect(() => {
    const updateHiddenParts = () => {
      setHiddenParts(partsNamed(model.get('hidden')));
    };
    model.on('change:hidden', updateHiddenParts);
    return () => {
      model.off('change:hidden', updateHiddenParts);
    };
  }, [model]);
  return hiddenParts;
}

/** Returns the parts with these names; a name that a newer kernel knows is left out. */
export function partsNamed(names: readonly string[]): InspectorPartName[] {
  return names.flatMap(name => INSPECTOR_PARTS.filter(part => part === name));
}
