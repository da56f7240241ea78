

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



INSERT INTO public.hush_account VALUES ('dataset:concentrated', 'rho', -12, -18, '0', 4000000000000, 0, 68672839507, 0);
INSERT INTO public.hush_account VALUES ('dataset:gaussian', 'mu', -11, -18, '0', 3600000000000, 0, 26234567902, 0);
INSERT INTO public.hush_account VALUES ('analyst:ana', 'epsilon', -12, -17, '1/100000', 4000000000000, 1000000000000, 50000000000, 0);
INSERT INTO public.hush_account VALUES ('analyst:bo', 'rho', -12, -18, '0', 2000000000000, 0, 1250000000, 0);
INSERT INTO public.hush_account VALUES ('dataset:second', 'epsilon', -12, -17, '1/100000', 5000000000000, 1000000000000, 250000000000, 10000000000);
INSERT INTO public.hush_account VALUES ('dataset:visits', 'epsilon', -11, -16, '1/10000', 2500000000000, 2000000000000, 92320095569, 11000000000);
INSERT INTO public.hush_account VALUES ('unit:patients', 'epsilon', -11, -15, '1/1000', 3000000000000, 1000000000000, 117320095569, 1200000000);



INSERT INTO public.hush_entry VALUES (0, 'genesis', '', '', '2026-11-18T20:29:09.409+00:00', '{"admin":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","anchored":true,"format":1,"ledger":"6a5f5ee569c389ceab2067c77869ecff","lockout":3,"rehearsal":false}', '0000000000000000000000000000000000000000000000000000000000000000', 'b3cbec5822ce7a407f8b2f4993b1b9e3ac92b652d847be66f07a18883e88bfc1');
INSERT INTO public.hush_entry VALUES (1, 'grant', 'dataset:visits', '1', '2026-11-18T20:29:09.414+00:00', '{"by":"test office","delta":"1/10000","limit":[2000000000000,1000000000000],"notion":"epsilon","powers":[-11,-16],"signature":"f5288881f5d73bb9eff97c26a41fbb5254ea73b74f1b49730ce84a62f81e162c252c91b2682fde8677784a382d40f4f921b4370a3e4a2db45180fbc351b4c90a"}', 'b3cbec5822ce7a407f8b2f4993b1b9e3ac92b652d847be66f07a18883e88bfc1', 'b04185170c5fefc2c4301309615b07a2e0f082535881aa32e9c37e28bf5a4cf6');
INSERT INTO public.hush_entry VALUES (2, 'grant', 'dataset:second', '2', '2026-11-18T20:29:09.417+00:00', '{"by":"test office","delta":"1/100000","limit":[5000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"76315e675f0bf7a568aaefc644854d0660e9821f6806ce9a838b42e07ba84bca3c90909c511a16254f6e8df0c90c409beb946b0e4b17070299264d2e1f6e930c"}', 'b04185170c5fefc2c4301309615b07a2e0f082535881aa32e9c37e28bf5a4cf6', 'dfb159c72982dd40881501c614dc991856d135e692053161a590cacc68ed2354');
INSERT INTO public.hush_entry VALUES (3, 'grant', 'dataset:concentrated', '3', '2026-11-18T20:29:09.421+00:00', '{"by":"test office","delta":"0","limit":[4000000000000,0],"notion":"rho","powers":[-12,-18],"signature":"87ca71764ffa1e56762c7815ca6b7b7236b8833e431ef99141f34f1fedf27757d537ac423333551ecd2b6bfcc0c841cd59bf7e5806df9032c9ff935af5a7a301"}', 'dfb159c72982dd40881501c614dc991856d135e692053161a590cacc68ed2354', '5739931ae560eab7c90cfa65808c2a2a4b727a8cc1575593fc5fadbe72a75253');
INSERT INTO public.hush_entry VALUES (4, 'grant', 'dataset:gaussian', '4', '2026-11-18T20:29:09.425+00:00', '{"by":"test office","delta":"0","limit":[3600000000000,0],"notion":"mu","powers":[-11,-18],"signature":"fcd860b3b3cb5d05f2606d4dbb81d3a5342670fc68b4cf49376cb7a1a8b8c275ea5c8db92559ab2572d1399ffe74057a0f455e229123a07f981f13a2f50eaf0f"}', '5739931ae560eab7c90cfa65808c2a2a4b727a8cc1575593fc5fadbe72a75253', 'a27d03a9adb78ed62d5027b7269054fb53555a9d37cb7c197c9a62c980ac8264');
INSERT INTO public.hush_entry VALUES (5, 'grant', 'analyst:ana', '5', '2026-11-18T20:29:09.429+00:00', '{"by":"test office","delta":"1/100000","limit":[3000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"5340e2f60aff08ede4f66c00c8d96831709e3b53311b7a1db449faf2cac142d20bd0ec60f34ad0ad1f2b2651a717b44000d57e50adae651a6df76cae30423805"}', 'a27d03a9adb78ed62d5027b7269054fb53555a9d37cb7c197c9a62c980ac8264', 'dfade86b5a0f6e53f2f737b1adf75ad8482ee8e5421bd7ce6c72c278e15bb2ca');
INSERT INTO public.hush_entry VALUES (6, 'grant', 'analyst:bo', '6', '2026-11-18T20:29:09.433+00:00', '{"by":"test office","delta":"0","limit":[2000000000000,0],"notion":"rho","powers":[-12,-18],"signature":"3bc10524f03a1c4c009ddeb3b45bc29d922ae8e9a14f3c660c582cbe28d95dd9d6ab2d961f5db5d3e0183b3d454938273bd0c6a895941fc3534917b94a69640b"}', 'dfade86b5a0f6e53f2f737b1adf75ad8482ee8e5421bd7ce6c72c278e15bb2ca', '6c171e2aaad5a845c13795d1089cd41e01494dc625ee4c348bbb50522fa5a7f3');
INSERT INTO public.hush_entry VALUES (7, 'reserve', '["dataset:visits"]', 'count', '2026-11-18T20:29:09.438+00:00', '{"costs":{"dataset:visits":[10000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=10.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"c784662aeaa0d257d6fe5c3199cabfc74adc6cf11b3736d219954bc42bcf77d5"}', '6c171e2aaad5a845c13795d1089cd41e01494dc625ee4c348bbb50522fa5a7f3', '1caa764bef4fc2cddf3f8786cdf83608a99d0e61c5f4f1dabd5e41e5a4e86cf2');
INSERT INTO public.hush_entry VALUES (8, 'seal', '["dataset:visits"]', 'count', '2026-11-18T20:29:09.445+00:00', '{"curve":{"epsilon":0.1,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"10"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":10.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.438+00:00","bounds":null,"cost":{"dataset:visits":["1/10","0"]},"hash":"1caa764bef4fc2cddf3f8786cdf83608a99d0e61c5f4f1dabd5e41e5a4e86cf2","key":"count","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Laplace(scale=10.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":7,"unit":"row","version":""},"values":5}', '1caa764bef4fc2cddf3f8786cdf83608a99d0e61c5f4f1dabd5e41e5a4e86cf2', '4942f8038c1d6d8adb5153124513a19703e5c862bfe389e5676bdd7ba24db6d8');
INSERT INTO public.hush_entry VALUES (9, 'reserve', '["dataset:visits"]', 'versioned', '2026-11-18T20:29:09.449+00:00', '{"costs":{"dataset:visits":[10000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=10)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":"monday"},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"26e69c01021e4618c0a5038ef2e71a812b45013bded8a06d5226323822cbc8a6"}', '4942f8038c1d6d8adb5153124513a19703e5c862bfe389e5676bdd7ba24db6d8', '0595d0bd83abad151a40a954df5dbc5a2f2190fea549d21a6ad7b202bfde9ea2');
INSERT INTO public.hush_entry VALUES (10, 'seal', '["dataset:visits"]', 'versioned', '2026-11-18T20:29:09.453+00:00', '{"curve":{"epsilon":0.1,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"10"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":10},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.449+00:00","bounds":null,"cost":{"dataset:visits":["1/10","0"]},"hash":"0595d0bd83abad151a40a954df5dbc5a2f2190fea549d21a6ad7b202bfde9ea2","key":"versioned","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Laplace(scale=10)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":9,"unit":"row","version":"monday"},"values":8}', '0595d0bd83abad151a40a954df5dbc5a2f2190fea549d21a6ad7b202bfde9ea2', '4e413f9af294cb674eccf1f7f0f7001121dca4247f568938d4d7a7796310b369');
INSERT INTO public.hush_entry VALUES (11, 'reserve', '["dataset:visits"]', 'noted', '2026-11-18T20:29:09.457+00:00', '{"costs":{"dataset:visits":[14023778296,1000000000]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=30.0)","neighbors":"add-remove","notes":{"why":["a",1,null]},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"ae898992287e118d5c57b7168b70840e1d7430189f2c481bcabec0a0a7f05350"}', '4e413f9af294cb674eccf1f7f0f7001121dca4247f568938d4d7a7796310b369', '43249c9253e106ab3238a8336ea82b0174ff7a02746e3d5ad5742a413b44127a');
INSERT INTO public.hush_entry VALUES (12, 'seal', '["dataset:visits"]', 'noted', '2026-11-18T20:29:09.461+00:00', '{"curve":{"mu":0.03333333333333336,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"2061584302080"}}}},{"class":"value","value":{"hush":"fraction","value":"1/68719476736"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":36},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"2061584302080"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":30.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.457+00:00","bounds":null,"cost":{"dataset:visits":["1752972287/12500000000","1/10000000"]},"hash":"43249c9253e106ab3238a8336ea82b0174ff7a02746e3d5ad5742a413b44127a","key":"noted","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Gaussian(std=30.0)","neighbors":"add-remove","notes":{"why":["a",1,null]},"notions":{"dataset:visits":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":11,"unit":"row","version":""},"values":-3}', '43249c9253e106ab3238a8336ea82b0174ff7a02746e3d5ad5742a413b44127a', '3cdc48897722a120a876465a143f8a9a7bd63e3031c712c7cb1a0691511b9509');
INSERT INTO public.hush_entry VALUES (13, 'charge', '["dataset:visits"]', 'charged', '2026-11-18T20:29:09.465+00:00', '{"costs":{"dataset:visits":[12500000000,0]},"facts":{"library":"0.1.0","mechanism":"Pure(epsilon=0.125)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16]},"request":"7dad9cdaea3d50c7c531534207069eda26694f8e8eb75ff0b4369bcd1cf3564a"}', '3cdc48897722a120a876465a143f8a9a7bd63e3031c712c7cb1a0691511b9509', 'a5d64bd280c0a7e192122eec9a32e3c4b7392129befbb6aed7557424fb1900df');
INSERT INTO public.hush_entry VALUES (14, 'reserve', '["dataset:concentrated"]', 'concentrated', '2026-11-18T20:29:09.469+00:00', '{"costs":{"dataset:concentrated":[6172839507,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:concentrated":["rho",-12,-18]},"request":"855724ceb6cec6a8248c71e7f6f1ab33244a131dcf13582a7e902a67a3ae73fa"}', 'a5d64bd280c0a7e192122eec9a32e3c4b7392129befbb6aed7557424fb1900df', '2bc909cde6ef19a7adc123d8c5f75c6e3bd37a9fc1cb5d67f22f75a3c4ed2d48');
INSERT INTO public.hush_entry VALUES (15, 'seal', '["dataset:concentrated"]', 'concentrated', '2026-11-18T20:29:09.473+00:00', '{"curve":{"mu":0.1111111111111112,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}},{"class":"value","value":{"hush":"fraction","value":"1/137438953472"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":37},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":9.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.469+00:00","bounds":null,"cost":{"dataset:concentrated":["6172839507/1000000000000","0"]},"hash":"2bc909cde6ef19a7adc123d8c5f75c6e3bd37a9fc1cb5d67f22f75a3c4ed2d48","key":"concentrated","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:concentrated":"rho"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":14,"unit":"row","version":""},"values":10}', '2bc909cde6ef19a7adc123d8c5f75c6e3bd37a9fc1cb5d67f22f75a3c4ed2d48', 'c212ead3daa40fcacc40793e123a0a429bfc8edf8d1a5c1a3ec8fa6e9aa95b7c');
INSERT INTO public.hush_entry VALUES (16, 'charge', '["dataset:concentrated"]', 'concentrated charge', '2026-11-18T20:29:09.477+00:00', '{"costs":{"dataset:concentrated":[62500000000,0]},"facts":{"library":"0.1.0","mechanism":"ZCDP(rho=0.0625)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:concentrated":["rho",-12,-18]},"request":"a929a629cd5a2ce500e02907cd93abba89436a5745475e7883c821847621f27a"}', 'c212ead3daa40fcacc40793e123a0a429bfc8edf8d1a5c1a3ec8fa6e9aa95b7c', '02c6f05a8b133007d8cc391061ab387ff73b810e4ef57d7d670feb0fa9b0e118');
INSERT INTO public.hush_entry VALUES (17, 'reserve', '["dataset:gaussian"]', 'gaussian', '2026-11-18T20:29:09.481+00:00', '{"costs":{"dataset:gaussian":[1234567902,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:gaussian":["mu",-11,-18]},"request":"5958268c8e40e246c96c753e55dcf281699832cafd367e8634e84e48575d463c"}', '02c6f05a8b133007d8cc391061ab387ff73b810e4ef57d7d670feb0fa9b0e118', 'ece6ede61df0cc4735c678df18083c44905255bbc9bf759e9901e479f6162c46');
INSERT INTO public.hush_entry VALUES (18, 'seal', '["dataset:gaussian"]', 'gaussian', '2026-11-18T20:29:09.485+00:00', '{"curve":{"mu":0.1111111111111112,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}},{"class":"value","value":{"hush":"fraction","value":"1/137438953472"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":37},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1236950581248"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":9.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.481+00:00","bounds":null,"cost":{"dataset:gaussian":["617283951/50000000000","0"]},"hash":"ece6ede61df0cc4735c678df18083c44905255bbc9bf759e9901e479f6162c46","key":"gaussian","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Gaussian(std=9.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:gaussian":"mu"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":17,"unit":"row","version":""},"values":11}', 'ece6ede61df0cc4735c678df18083c44905255bbc9bf759e9901e479f6162c46', '4144d603e80f4cb2211c5971060b0ae3be81ed70395a2a0f1a81eff5f5ba9542');
INSERT INTO public.hush_entry VALUES (19, 'charge', '["dataset:gaussian"]', 'gaussian charge', '2026-11-18T20:29:09.489+00:00', '{"costs":{"dataset:gaussian":[25000000000,0]},"facts":{"library":"0.1.0","mechanism":"GDP(mu=0.5)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:gaussian":["mu",-11,-18]},"request":"ce0a01c8a08b169003078e1af1b166c1fc0ef1f896861f29cb9fe2098d768ec3"}', '4144d603e80f4cb2211c5971060b0ae3be81ed70395a2a0f1a81eff5f5ba9542', 'a045ba783d277b030acef63b8ff826cb7288176f0d629b27fd89cf0f56df866a');
INSERT INTO public.hush_entry VALUES (20, 'grant', 'unit:patients', '20', '2026-11-18T20:29:09.497+00:00', '{"by":"test office","delta":"1/1000","limit":[3000000000000,1000000000000],"notion":"epsilon","powers":[-11,-15],"signature":"b19be83b5a73fd2f9ff77fbda29e588e1e2c8f430c52ce6d86ed8844312e60d25830db008bc5fc7dedbbc90a985cd76f0802caf3b425ca9235fc976ada98b800"}', 'a045ba783d277b030acef63b8ff826cb7288176f0d629b27fd89cf0f56df866a', '203414faa6cb3bf8b1f0cc4172f4d4135d9306f8072619ff99342c097d5b6cf2');
INSERT INTO public.hush_entry VALUES (21, 'link', 'dataset:visits', 'unit:patients', '2026-11-18T20:29:09.498+00:00', '{"by":"test office","carried":[46523778296,100000000],"signature":"3a1de53a5e6a808825f25a5486d5e2d1fefdd8833b1b06980c2e4a0c3c9c8ae9257f3bfbed79631fb8589017bd0b37446fef6ddd0d92f2b099a3e9db36473e0d"}', '203414faa6cb3bf8b1f0cc4172f4d4135d9306f8072619ff99342c097d5b6cf2', '04df509c666f6ddf783e83090db7834c91e2ead4c10e572561ce8f08333d6a28');
INSERT INTO public.hush_entry VALUES (22, 'link', 'dataset:second', 'unit:patients', '2026-11-18T20:29:09.501+00:00', '{"by":"test office","signature":"ef4cdf9d02cbfbff0614f0333f4cd4e2cb0603a1a071bc216260d55d1b2de6687a5dac5df2d12413d30f906fc7ad66e4ed02c9d07d7dd454a5ea27ba67238c08"}', '04df509c666f6ddf783e83090db7834c91e2ead4c10e572561ce8f08333d6a28', '8275c7d511622454b7b7c163def184cbb54276a108edc10c934e40407ca5bedb');
INSERT INTO public.hush_entry VALUES (23, 'grant', 'dataset:visits', '23', '2026-11-18T20:29:09.505+00:00', '{"by":"test office","delta":"1/10000","limit":[2500000000000,2000000000000],"notion":"epsilon","powers":[-11,-16],"reason":"second year","signature":"98c9d4b4f01ea8960d346ce718c84d6dc18be0d9cd2f927217242cccc29a69ced8b2d5ca153ca23fefba1be77c8addbb2be2eff298acd6551f0d0ea07f645006"}', '8275c7d511622454b7b7c163def184cbb54276a108edc10c934e40407ca5bedb', '84357272d94eb6b1019607069675028c79b96b5762d5894825621601ca6cc3aa');
INSERT INTO public.hush_entry VALUES (24, 'grant', 'analyst:ana', '24', '2026-11-18T20:29:09.509+00:00', '{"by":"test office","delta":"1/100000","limit":[4000000000000,1000000000000],"notion":"epsilon","powers":[-12,-17],"signature":"dfde9aa1c5dab6bec1532a269125dbf2c2b64c9496ceb7c865c8716fa16ff481e3004ff58c1b6bf7fdf51e436408b63e81df524a11cd03b2f7334d253e80c801"}', '84357272d94eb6b1019607069675028c79b96b5762d5894825621601ca6cc3aa', '52da34c2cb671faa0853b43e05048b144c4bf7b2dd37cd10ecf876facdd1c8b6');
INSERT INTO public.hush_entry VALUES (25, 'reserve', '["analyst:ana","dataset:visits"]', 'of ana', '2026-11-18T20:29:09.514+00:00', '{"costs":{"analyst:ana":[50000000000,0],"dataset:visits":[5000000000,0],"unit:patients":[5000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=20.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"analyst:ana":["epsilon",-12,-17],"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"635a93d6b60fd690793d2780b2ba6a84f6cd01a9055fb7473d3077db3d6fa36e"}', '52da34c2cb671faa0853b43e05048b144c4bf7b2dd37cd10ecf876facdd1c8b6', '4b36756c7584e9a47b193b061676300e81d437b62c0819243ce9e76d914ac0ea');
INSERT INTO public.hush_entry VALUES (26, 'seal', '["analyst:ana","dataset:visits"]', 'of ana', '2026-11-18T20:29:09.517+00:00', '{"curve":{"epsilon":0.05,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"20"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":20.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.514+00:00","bounds":null,"cost":{"analyst:ana":["1/20","0"],"dataset:visits":["1/20","0"],"unit:patients":["1/20","0"]},"hash":"4b36756c7584e9a47b193b061676300e81d437b62c0819243ce9e76d914ac0ea","key":"of ana","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Laplace(scale=20.0)","neighbors":"add-remove","notes":{},"notions":{"analyst:ana":"epsilon","dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":25,"unit":"row","version":""},"values":-38}', '4b36756c7584e9a47b193b061676300e81d437b62c0819243ce9e76d914ac0ea', '6aa029264869bcbdce8f7aeaddd3f3273a54d69fd7ad60c763a1c2c4e8999837');
INSERT INTO public.hush_entry VALUES (27, 'reserve', '["analyst:bo","dataset:visits"]', 'of bo', '2026-11-18T20:29:09.521+00:00', '{"costs":{"analyst:bo":[1250000000,0],"dataset:visits":[18921317273,10000000000],"unit:patients":[18921317273,1000000000]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Gaussian(std=20.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"analyst:bo":["rho",-12,-18],"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"56bc76f3efa1402cd03c9da1f6f91b288d9ef045d179f10c480ae95f2342171c"}', '6aa029264869bcbdce8f7aeaddd3f3273a54d69fd7ad60c763a1c2c4e8999837', '46cd5aecaf1bb750726f4e601dd38db8fcc99dae415f0e40c87c69118bb6a7a1');
INSERT INTO public.hush_entry VALUES (28, 'seal', '["analyst:bo","dataset:visits"]', 'of bo', '2026-11-18T20:29:09.525+00:00', '{"curve":{"mu":0.050000000000000044,"type":"GDP"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1374389534720"}}}},{"class":"value","value":{"hush":"fraction","value":"1/68719476736"}}]},{"class":"tuple","items":[{"class":"hush.mechanisms.rounded:Rounded","fields":{"bits":{"class":"value","value":36},"law":{"class":"hush.law:DiscreteGaussian","fields":{"std":{"class":"value","value":{"hush":"fraction","value":"1374389534720"}}}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.gaussian:Gaussian","fields":{"std":{"class":"value","value":20.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.521+00:00","bounds":null,"cost":{"analyst:bo":["1/800","0"],"dataset:visits":["18921317273/100000000000","1/1000000"],"unit:patients":["18921317273/100000000000","1/1000000"]},"hash":"46cd5aecaf1bb750726f4e601dd38db8fcc99dae415f0e40c87c69118bb6a7a1","key":"of bo","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Gaussian(std=20.0)","neighbors":"add-remove","notes":{},"notions":{"analyst:bo":"rho","dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":27,"unit":"row","version":""},"values":20}', '46cd5aecaf1bb750726f4e601dd38db8fcc99dae415f0e40c87c69118bb6a7a1', '359c1435c7616a95ae6db739e1de4a3fc314481f717ed4d16606ff8728b36843');
INSERT INTO public.hush_entry VALUES (29, 'charge', '["dataset:second"]', 'second', '2026-11-18T20:29:09.530+00:00', '{"costs":{"dataset:second":[250000000000,10000000000],"unit:patients":[25000000000,100000000]},"facts":{"library":"0.1.0","mechanism":"Approx(epsilon=0.25, delta=1e-07)","neighbors":"add-remove","notes":{"neighbors":"add-remove","unit":"row"},"unit":"row","version":""},"grids":{"dataset:second":["epsilon",-12,-17],"unit:patients":["epsilon",-11,-15]},"request":"4e92372c06178acde95f1dc29cad6bd9b741ee8c1e36f7386b1e6cb8ab151235"}', '359c1435c7616a95ae6db739e1de4a3fc314481f717ed4d16606ff8728b36843', '999d6bcb54546f2e7f9c85bc3edbfc0c54063c1af0646b3b6ae7ccd330983d20');
INSERT INTO public.hush_entry VALUES (30, 'hold', '["dataset:visits"]', 'held', '2026-11-18T20:29:09.533+00:00', '{"costs":{"dataset:visits":[6250000000,0],"unit:patients":[6250000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=16.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"200da873f23802d20585fea462effcc0e4495b3c0ef9276f4553229fbf483f96"}', '999d6bcb54546f2e7f9c85bc3edbfc0c54063c1af0646b3b6ae7ccd330983d20', '029d4165e10b09ea92c3781958a299fc683fdbb822e988bb4ee676652918a225');
INSERT INTO public.hush_entry VALUES (31, 'hold', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:29:09.537+00:00', '{"costs":{"dataset:visits":[12500000000,0],"unit:patients":[12500000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=8.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"f94c4b841bd22ea12863bc489527e4dcdde7cf94950ab1c43113898e985308be"}', '029d4165e10b09ea92c3781958a299fc683fdbb822e988bb4ee676652918a225', '031103a01eba3e80a8e09902fcb9781e0b0f480b0a7e856a43274cf76edde14a');
INSERT INTO public.hush_entry VALUES (32, 'hold', '["dataset:visits"]', 'held, then void', '2026-11-18T20:29:09.541+00:00', '{"costs":{"dataset:visits":[25000000000,0],"unit:patients":[25000000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=4.0)","neighbors":"add-remove","notes":{},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"183160e26e508933675d53981c1a1dcdb900b80695eb42bf3e80da987da057fe"}', '031103a01eba3e80a8e09902fcb9781e0b0f480b0a7e856a43274cf76edde14a', '960584c10d3d26915295d11f8b0d95a88fc42c7329de7c97910384adad14bf61');
INSERT INTO public.hush_entry VALUES (33, 'start', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:29:09.545+00:00', '{}', '960584c10d3d26915295d11f8b0d95a88fc42c7329de7c97910384adad14bf61', '8403384d27c779b59009d947f575bfbc86e96aa54054c366ecfcebc54e050a9f');
INSERT INTO public.hush_entry VALUES (34, 'seal', '["dataset:visits"]', 'held, then drawn', '2026-11-18T20:29:09.549+00:00', '{"curve":{"epsilon":0.125,"type":"Pure"},"errors":[{"class":"hush.mechanisms.error:Error","fields":{"cases":{"class":"tuple","items":[{"class":"tuple","items":[{"class":"hush.law:DiscreteLaplace","fields":{"scale":{"class":"value","value":{"hush":"fraction","value":"8"}}}},{"class":"value","value":{"hush":"fraction","value":"1"}}]}]},"dimension":{"class":"value","value":1}}}],"format":1,"hush":"release","mechanisms":[{"class":"hush.mechanisms.laplace:Laplace","fields":{"scale":{"class":"value","value":8.0},"step":{"class":"value","value":null}}}],"receipt":{"at":"2026-11-18T20:29:09.537+00:00","bounds":null,"cost":{"dataset:visits":["1/8","0"],"unit:patients":["1/8","0"]},"hash":"031103a01eba3e80a8e09902fcb9781e0b0f480b0a7e856a43274cf76edde14a","key":"held, then drawn","keys":"","ledger":"6a5f5ee569c389ceab2067c77869ecff","library":"0.1.0","mechanism":"Laplace(scale=8.0)","neighbors":"add-remove","notes":{},"notions":{"dataset:visits":"epsilon","unit:patients":"epsilon"},"query":"Query(name=''count'', moves=(1,), neighbors=<Neighbors.ADD_REMOVE: ''add-remove''>, bounds=None, default=None)","rehearsal":false,"seeded":false,"sensitivity":1,"sequence":31,"unit":"row","version":""},"values":25}', '8403384d27c779b59009d947f575bfbc86e96aa54054c366ecfcebc54e050a9f', '419f640207339c055bb9a0e7d95b8cdd285d8798fa3c0abd291ac219f3cd792c');
INSERT INTO public.hush_entry VALUES (35, 'void', '["dataset:visits"]', 'held, then void', '2026-11-18T20:29:09.553+00:00', '{"by":"test office","reason":"nobody needs it","signature":"5f9060359d5dcb2506321423bcca23edc44669b53485bcc809057748eb1f82f0a517e83f903f191677eedef870abcd3910fb93d993c3954daa730d0ed1c99a03"}', '419f640207339c055bb9a0e7d95b8cdd285d8798fa3c0abd291ac219f3cd792c', '8a90b699f2a1cc14df849f323c867314130f31426272a9416085d313aee2181e');
INSERT INTO public.hush_entry VALUES (36, 'reserve', '["dataset:visits"]', 'failed', '2026-11-18T20:29:09.557+00:00', '{"costs":{"dataset:visits":[3125000000,0],"unit:patients":[3125000000,0]},"facts":{"bounds":null,"keys":"","library":"0.1.0","mechanism":"Laplace(scale=32.0)","neighbors":"add-remove","notes":{},"query":"Broken(sensitivity=1, neighbors=''add-remove'', unit=''row'')","sensitivity":1,"unit":"row","version":""},"grids":{"dataset:visits":["epsilon",-11,-16],"unit:patients":["epsilon",-11,-15]},"request":"1bcc954c5b034764a68212e6f615b32b64edc47efc07f929d53a9ebc05873329"}', '8a90b699f2a1cc14df849f323c867314130f31426272a9416085d313aee2181e', '0a3eb41d2519596373085e5f04a4cf9f1c8826e3d7f83a2e506ca391427f80a4');
INSERT INTO public.hush_entry VALUES (37, 'fail', '["dataset:visits"]', 'failed', '2026-11-18T20:29:09.560+00:00', '{"error":"query_failed"}', '0a3eb41d2519596373085e5f04a4cf9f1c8826e3d7f83a2e506ca391427f80a4', 'd5664704d568159fe20b4d971569949cb83bb156b326c43dda34c73adc97d9dd');
INSERT INTO public.hush_entry VALUES (38, 'unlock', '["dataset:visits"]', 'ea43a33c6d8e41ad', '2026-11-18T20:29:09.565+00:00', '{"by":"test office","reason":"the failure was looked into","signature":"f2e5ea984c10711c8ab6e52a8f2078cfa3a69bc62363cefa63f48061c868938769a650b3bafbf7e84d963cc36b311bcb71877efffc6ea9e2ac8fd74398118106"}', 'd5664704d568159fe20b4d971569949cb83bb156b326c43dda34c73adc97d9dd', '601c72d02ff3bc826faee46b73769a7b1e285d348cc338de4327a4dce94196a0');



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


