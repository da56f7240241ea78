

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;


CREATE FUNCTION public.hush_answer_1(what text, place text, name text, moment text, content text, OUT sequence bigint, OUT before text, OUT mark text) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := pg_advisory_xact_lock(7527049261614393189);
    mark := NULL;
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, encode(sha256(convert_to(concat(length((h.seq + 1)::text), ':', (h.seq + 1)::text, length(what), ':', what, length(place), ':', place, length(name), ':', name, length(moment), ':', moment, length(content), ':', content, length(h.hash), ':', h.hash), 'UTF8')), 'hex')
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h
    WHERE 1 = (SELECT sum(CASE WHEN o.kind IN ('reserve', 'hold') THEN 1
            WHEN o.kind = 'start' THEN 0 ELSE 9 END)
        FROM hush_entry o WHERE o.scope = place AND o.key = name)
    RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;
END $$;



CREATE FUNCTION public.hush_charge_1(what text, place text, name text, moment text, content text, payers text, accounts text, units text, most text, OUT sequence bigint, OUT before text, OUT mark text) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    who text[] := string_to_array(accounts, E'\n');
    cost bigint[] := string_to_array(units, ' ');
BEGIN
    mark := set_config('synchronous_commit', 'remote_apply', true);
    mark := pg_advisory_xact_lock(7527049261614393189);
    mark := NULL;
    IF EXISTS (SELECT FROM hush_entry e WHERE e.scope = place AND e.key = name)
    OR EXISTS (SELECT FROM hush_entry e WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'link'
        AND scope = ANY (string_to_array(payers, E'\n')) AND key <> ALL (who))
    THEN RETURN; END IF;
    IF most <> '' THEN
        IF most::bigint <= (
            SELECT count(*) FROM hush_entry
            WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'fail' AND scope = place
            AND seq > (SELECT coalesce(max(seq), 0) FROM hush_entry
                WHERE kind IN ('fail', 'link', 'unlock') AND kind = 'unlock' AND scope = place))
        THEN RETURN; END IF;
    END IF;
    FOR i IN 1 .. cardinality(who) LOOP
        UPDATE hush_account a SET
            spent1 = a.spent1 + cost[2 * i - 1], spent2 = a.spent2 + cost[2 * i]
        WHERE a.name = who[i] AND a.spent1 + cost[2 * i - 1] <= a.limit1
            AND a.spent2 + cost[2 * i] <= a.limit2;
        IF NOT FOUND AND i = 1 THEN RETURN; END IF;
        IF NOT FOUND THEN RAISE SQLSTATE 'HU001'; END IF;
    END LOOP;
    INSERT INTO hush_entry AS e (seq, kind, scope, key, at, body, prev, hash)
    SELECT h.seq + 1, what, place, name, moment, content, h.hash, encode(sha256(convert_to(concat(length((h.seq + 1)::text), ':', (h.seq + 1)::text, length(what), ':', what, length(place), ':', place, length(name), ':', name, length(moment), ':', moment, length(content), ':', content, length(h.hash), ':', h.hash), 'UTF8')), 'hex')
    FROM (SELECT seq, hash FROM hush_entry ORDER BY seq DESC LIMIT 1) h
    RETURNING e.seq, e.prev, e.hash INTO sequence, before, mark;
END $$;



CREATE FUNCTION public.hush_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;


CREATE TABLE public.hush_account (
    name text NOT NULL,
    notion text NOT NULL,
    power1 bigint NOT NULL,
    power2 bigint NOT NULL,
    delta text NOT NULL,
    limit1 bigint NOT NULL,
    limit2 bigint NOT NULL,
    spent1 bigint DEFAULT 0 NOT NULL,
    spent2 bigint DEFAULT 0 NOT NULL,
    CONSTRAINT hush_account_check CHECK (((spent1 >= 0) AND (spent1 <= limit1))),
    CONSTRAINT hush_account_check1 CHECK (((spent2 >= 0) AND (spent2 <= limit2)))
);



CREATE TABLE public.hush_entry (
    seq bigint NOT NULL,
    kind text NOT NULL,
    scope text NOT NULL,
    key text NOT NULL,
    at text NOT NULL,
    body text NOT NULL,
    prev text NOT NULL,
    hash text NOT NULL
);



INSERT INTO public.hush_account VALUES ('dataset:added', 'epsilon', -6, -13, '9/10', 1000000000000, 9000000000000, 65000769, 2000000);



INSERT INTO public.hush_entry VALUES (0, 'genesis', '', '', '2026-11-18T20:29:09.913+00:00', '{"admin":null,"anchored":true,"format":1,"ledger":"471b2449af0f37df6537a6d3783712dd","rehearsal":false}', '0000000000000000000000000000000000000000000000000000000000000000', 'a437ec551671709e12dd50ddfeb84ee22dd5109a50d76a17e8c9043ae90ecc68');
INSERT INTO public.hush_entry VALUES (1, 'grant', 'dataset:added', '1', '2026-11-18T20:29:09.918+00:00', '{"delta":"9/10","limit":[1000000000000,9000000000000],"notion":"epsilon","powers":[-6,-13]}', 'a437ec551671709e12dd50ddfeb84ee22dd5109a50d76a17e8c9043ae90ecc68', 'a12151b359f9aa3dd34c6d54a1a1151ede8c91aebee23c641838e93bf935be5b');
INSERT INTO public.hush_entry VALUES (2, 'reserve', '["dataset:added"]', 'four counts', '2026-11-18T20:29:09.920+00:00', '{"costs":{"dataset:added":[1607694,1000000]},"facts":{"bounds":[null,null,null,null],"keys":"","library":"0.1.0","mechanism":"Gaussian(std=6.0); Gaussian(std=6.0); Gaussian(std=6.0); Gaussian(std=6.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":[1,1,1,1],"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"04fe0481c3242413f37e084a40eff33bb84a8106879600b7209e2ec805264b17"}', 'a12151b359f9aa3dd34c6d54a1a1151ede8c91aebee23c641838e93bf935be5b', '3c16d747bb7e6799545a590d38b2ed9ad573633d79e994f945fce59147b2f9fb');
INSERT INTO public.hush_entry VALUES (3, 'seal', '["dataset:added"]', 'four counts', '2026-11-18T20:29:09.925+00:00', '{"curve":{"mu":0.3333333333333336,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}},{"class":"value","value":{"hush":"fraction","value":"1/274877906944"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":38},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}},{"class":"value","value":{"hush":"fraction","value":"1/274877906944"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":38},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}},{"class":"value","value":{"hush":"fraction","value":"1/274877906944"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":38},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}},{"class":"value","value":{"hush":"fraction","value":"1/274877906944"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":38},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1649267441664"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":6.0},"step":{"class":"value","value":null}}},{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":6.0},"step":{"class":"value","value":null}}},{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":6.0},"step":{"class":"value","value":null}}},{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":6.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.920+00:00","bounds":[null,null,null,null],"cost":{"dataset:added":["803847/500000","1/10000000"]},"hash":"3c16d747bb7e6799545a590d38b2ed9ad573633d79e994f945fce59147b2f9fb","key":"four counts","keys":"","ledger":"471b2449af0f37df6537a6d3783712dd","library":"0.1.0","mechanism":"Gaussian(std=6.0); Gaussian(std=6.0); Gaussian(std=6.0); Gaussian(std=6.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:added":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":[1,1,1,1],"sequence":2,"unit":"row","version":""},"values":{"hush":"tuple","items":[7,14,15,4]}}', '3c16d747bb7e6799545a590d38b2ed9ad573633d79e994f945fce59147b2f9fb', 'afda68bbb4abd762d80710b55b30f07d8b4c6183d03c82c4a23e695ab4805b06');
INSERT INTO public.hush_entry VALUES (4, 'reserve', '["dataset:added"]', 'of many kinds', '2026-11-18T20:29:09.933+00:00', '{"costs":{"dataset:added":[56559741,1000000]},"facts":{"bounds":[null,[0.0,60.0],null],"keys":"","library":"0.1.0","mechanism":"Laplace(scale=2.0); Gaussian(std=9.0); Histogram(scale=2.0, edges=(0.0, 40.0, 80.0))","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''sum'', moves=(60,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=(0.0, 60.0), default=None); ","sensitivity":[1,60,null],"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"ea63a8f7711420b1a6343f9361cfddb30ab3c1816d61395f35f74464b531cf60"}', 'afda68bbb4abd762d80710b55b30f07d8b4c6183d03c82c4a23e695ab4805b06', '15d5766dafe6f964b8e01bd14c93a05b5ad3db4f1f1b34d856851431cffd9ce7');
INSERT INTO public.hush_entry VALUES (5, 'seal', '["dataset:added"]', 'of many kinds', '2026-11-18T20:29:09.937+00:00', '{"curve":{"parts":[[{"epsilon":0.5,"type":"Pure"},2],[{"mu":6.666666666666673,"type":"GDP"},1]],"type":"Loss"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"2"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}},{"class":"value","value":{"hush":"fraction","value":"1/137438953472"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":37},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"2"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":2}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":2.0},"step":{"class":"value","value":null}}},{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":9.0},"step":{"class":"value","value":null}}},{"class":"hush.mechanisms.histogram:Histogram","fields":{"categories":{"class":"value","value":null},"edges":{"class":"tuple","items":[{"class":"value","value":0.0},{"class":"value","value":40.0},{"class":"value","value":80.0}]},"neighbors":{"class":"hush.units:Neighbors","value":"add-remove"},"scale":{"class":"value","value":2.0}}}],"receipt":{"at":"2026-11-18T20:29:09.933+00:00","bounds":[null,[0.0,60.0],null],"cost":{"dataset:added":["56559741/1000000","1/10000000"]},"hash":"15d5766dafe6f964b8e01bd14c93a05b5ad3db4f1f1b34d856851431cffd9ce7","key":"of many kinds","keys":"","ledger":"471b2449af0f37df6537a6d3783712dd","library":"0.1.0","mechanism":"Laplace(scale=2.0); Gaussian(std=9.0); Histogram(scale=2.0, edges=(0.0, 40.0, 80.0))","neighbors":"add-remove","notes":{},"notions":{"dataset:added":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None); Query(name=''sum'', moves=(60,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=(0.0, 60.0), default=None); ","rehearsal":false,"seeded":false,"sensitivity":[1,60,null],"sequence":4,"unit":"row","version":""},"values":{"hush":"tuple","items":[11,262,{"dtype":"<i8","hush":"array","items":[9,5],"shape":[2]}]}}', '15d5766dafe6f964b8e01bd14c93a05b5ad3db4f1f1b34d856851431cffd9ce7', 'de212bcdeb4e3725c42b32190167ae8ef04eb664145f110ebbad6c476d4f560e');
INSERT INTO public.hush_entry VALUES (6, 'reserve', '["dataset:added"]', 'one', '2026-11-18T20:29:09.941+00:00', '{"costs":{"dataset:added":[500000,0]},"facts":{"bounds":[null],"keys":"","library":"0.1.0","mechanism":"Laplace(scale=2.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":[1],"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"d7c5e2480a53752bcc40e7600fb25dbf0e8e4b21014762841b64599c1b643135"}', 'de212bcdeb4e3725c42b32190167ae8ef04eb664145f110ebbad6c476d4f560e', 'dee4cf07608ad14334432118b73b379c7a90847226f1eb7e887d28e4012ad5b4');
INSERT INTO public.hush_entry VALUES (7, 'seal', '["dataset:added"]', 'one', '2026-11-18T20:29:09.945+00:00', '{"curve":{"epsilon":0.5,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"2"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":2.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.941+00:00","bounds":[null],"cost":{"dataset:added":["1/2","0"]},"hash":"dee4cf07608ad14334432118b73b379c7a90847226f1eb7e887d28e4012ad5b4","key":"one","keys":"","ledger":"471b2449af0f37df6537a6d3783712dd","library":"0.1.0","mechanism":"Laplace(scale=2.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:added":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":[1],"sequence":6,"unit":"row","version":""},"values":{"hush":"tuple","items":[9]}}', 'dee4cf07608ad14334432118b73b379c7a90847226f1eb7e887d28e4012ad5b4', '3d5f182e58c8aeeb62523b7373252ffec89de9eb481841682a37288ccfb312b0');
INSERT INTO public.hush_entry VALUES (8, 'reserve', '["dataset:added"]', 'vectors', '2026-11-18T20:29:09.950+00:00', '{"costs":{"dataset:added":[3500000,0]},"facts":{"bounds":[null,null],"keys":"","library":"0.1.0","mechanism":"Laplace(scale=2.0, step=Fraction(1, 1)); Exponential(scale=1.0)","neighbors":"add-remove","notes":{},"query":"Given(sensitivity=2, dimension=2, neighbors=''add-remove'', unit=''row''); Given(sensitivity=1, dimension=None, neighbors=''add-remove'', unit=''row'')","sensitivity":[2,1],"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"51a1cb9f21f7e3ece1c51eb86e26e9752ce76ab720afaf12314c494e4a815132"}', '3d5f182e58c8aeeb62523b7373252ffec89de9eb481841682a37288ccfb312b0', '189787fcb520eeae0d473e37bc3b725133709d7994e3fa9b9fd3fadfc51b5a9b');
INSERT INTO public.hush_entry VALUES (9, 'seal', '["dataset:added"]', 'vectors', '2026-11-18T20:29:09.953+00:00', '{"curve":{"parts":[[{"breaks":[],"p":{"by":3,"law":{"scale":{"type":"Fraction","value":"2"},"type":"DiscreteLaplace"},"type":"Shifted"},"q":{"scale":{"type":"Fraction","value":"2"},"type":"DiscreteLaplace"},"type":"Pair"},1],[{"span":2.0000000000000018,"type":"BoundedRange"},1]],"type":"Loss"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"2"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}},null],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":2.0},"step":{"class":"value","value":{"hush":"fraction","value":"1"}}}},{"class":"hush.mechanisms.exponential:Exponential","fields":{"monotone":{"class":"value","value":false},"scale":{"class":"value","value":1.0}}}],"receipt":{"at":"2026-11-18T20:29:09.950+00:00","bounds":[null,null],"cost":{"dataset:added":["7/2","0"]},"hash":"189787fcb520eeae0d473e37bc3b725133709d7994e3fa9b9fd3fadfc51b5a9b","key":"vectors","keys":"","ledger":"471b2449af0f37df6537a6d3783712dd","library":"0.1.0","mechanism":"Laplace(scale=2.0, step=Fraction(1, 1)); Exponential(scale=1.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:added":"epsilon"},"query":"Given(sensitivity=2, dimension=2, neighbors=''add-remove'', unit=''row''); Given(sensitivity=1, dimension=None, neighbors=''add-remove'', unit=''row'')","rehearsal":false,"seeded":false,"sensitivity":[2,1],"sequence":8,"unit":"row","version":""},"values":{"hush":"tuple","items":[{"dtype":"<i8","hush":"array","items":[4,9],"shape":[2]},1]}}', '189787fcb520eeae0d473e37bc3b725133709d7994e3fa9b9fd3fadfc51b5a9b', 'fd7c2f250c9ec88ceb9e6896faf08f056f6215a9bdf0181f366200874ded777f');
INSERT INTO public.hush_entry VALUES (10, 'reserve', '["dataset:added"]', 'adaptive', '2026-11-18T20:29:09.957+00:00', '{"costs":{"dataset:added":[2333334,0]},"facts":{"bounds":[null,null],"keys":"","library":"0.1.0","mechanism":"Exponential(scale=1.0); Geometric(scale=3)","neighbors":"add-remove","notes":{},"query":"Given(sensitivity=1, dimension=None, neighbors=''add-remove'', unit=''row''); After(sensitivity=1, adaptive=True, neighbors=''add-remove'', unit=''row'')","sensitivity":[1,1],"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"25e2cf9ee0659c3c28d9eb6e0400a4b4bb47729a4fc8ad788d1dde3cf6e67a03"}', 'fd7c2f250c9ec88ceb9e6896faf08f056f6215a9bdf0181f366200874ded777f', '256507264d3c0e53f9769de1866a6666679c1baf13a5c93efbcbc07f4f468a35');
INSERT INTO public.hush_entry VALUES (11, 'seal', '["dataset:added"]', 'adaptive', '2026-11-18T20:29:09.960+00:00', '{"curve":{"parts":[[{"span":2.0000000000000018,"type":"BoundedRange"},1],[{"epsilon":0.33333333333333337,"type":"Pure"},1]],"type":"Loss"},"errors":[null,{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"3"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.exponential:Exponential","fields":{"monotone":{"class":"value","value":false},"scale":{"class":"value","value":1.0}}},{"class":"hush.mechanisms.geometric:Geometric","fields":{"scale":{"class":"value","value":3}}}],"receipt":{"at":"2026-11-18T20:29:09.957+00:00","bounds":[null,null],"cost":{"dataset:added":["1166667/500000","0"]},"hash":"256507264d3c0e53f9769de1866a6666679c1baf13a5c93efbcbc07f4f468a35","key":"adaptive","keys":"","ledger":"471b2449af0f37df6537a6d3783712dd","library":"0.1.0","mechanism":"Exponential(scale=1.0); Geometric(scale=3)","neighbors":"add-remove","notes":{},"notions":{"dataset:added":"epsilon"},"query":"Given(sensitivity=1, dimension=None, neighbors=''add-remove'', unit=''row''); After(sensitivity=1, adaptive=True, neighbors=''add-remove'', unit=''row'')","rehearsal":false,"seeded":false,"sensitivity":[1,1],"sequence":10,"unit":"row","version":""},"values":{"hush":"tuple","items":[1,11]}}', '256507264d3c0e53f9769de1866a6666679c1baf13a5c93efbcbc07f4f468a35', '71c9e44480c4760f72287d76bc0b7bbee17cf4b9082b45566251d293910ea331');
INSERT INTO public.hush_entry VALUES (12, 'reserve', '["dataset:added"]', 'failed', '2026-11-18T20:29:09.961+00:00', '{"costs":{"dataset:added":[500000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=2.0)","neighbors":"add-remove","notes":{},"query":"Broken(sensitivity=1, neighbors=''add-remove'', unit=''row'')","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:added":["epsilon",-6,-13]},"request":"4b1f5c98da9da21ac6e97a80067f8bfbc1dbca437aee2d86f30544f0f3774e85"}', '71c9e44480c4760f72287d76bc0b7bbee17cf4b9082b45566251d293910ea331', '1a1f094208b0fd795e6f90d9bca0f8989103b0cddef8c87e0cc0da75a33ffb1b');
INSERT INTO public.hush_entry VALUES (13, 'fail', '["dataset:added"]', 'failed', '2026-11-18T20:29:09.964+00:00', '{"error":"query_failed"}', '1a1f094208b0fd795e6f90d9bca0f8989103b0cddef8c87e0cc0da75a33ffb1b', '3c2988a9982360b216a97c03ca9c58222be0ff4a5966cfc4c58987356e524c56');



ALTER TABLE ONLY public.hush_account
    ADD CONSTRAINT hush_account_pkey PRIMARY KEY (name);



ALTER TABLE ONLY public.hush_entry
    ADD CONSTRAINT hush_entry_pkey PRIMARY KEY (seq);



CREATE UNIQUE INDEX hush_key ON public.hush_entry USING btree (scope, key, (
CASE
    WHEN (kind = ANY (ARRAY['charge'::text, 'reserve'::text, 'hold'::text])) THEN 0
    WHEN (kind = ANY (ARRAY['seal'::text, 'fail'::text, 'void'::text])) THEN 2
    ELSE 1
END));



CREATE INDEX hush_rare ON public.hush_entry USING btree (scope, kind, seq) WHERE (kind = ANY (ARRAY['fail'::text, 'link'::text, 'unlock'::text]));



CREATE TRIGGER hush_account_delete BEFORE DELETE ON public.hush_account FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('an account cannot be removed');



CREATE TRIGGER hush_account_truncate BEFORE TRUNCATE ON public.hush_account FOR EACH STATEMENT EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_account_update BEFORE UPDATE OF name, notion, power1, power2, delta, limit1, limit2 ON public.hush_account FOR EACH ROW WHEN (((new.name <> old.name) OR (new.notion <> old.notion) OR (new.power1 <> old.power1) OR (new.power2 <> old.power2) OR (new.delta <> old.delta) OR (new.limit1 < old.limit1) OR (new.limit2 < old.limit2))) EXECUTE FUNCTION public.hush_refuse('a grant cannot be cut or changed');



CREATE TRIGGER hush_entry_delete BEFORE DELETE ON public.hush_entry FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_entry_truncate BEFORE TRUNCATE ON public.hush_entry FOR EACH STATEMENT EXECUTE FUNCTION public.hush_refuse('history is append-only');



CREATE TRIGGER hush_entry_update BEFORE UPDATE ON public.hush_entry FOR EACH ROW WHEN (true) EXECUTE FUNCTION public.hush_refuse('history is append-only');


